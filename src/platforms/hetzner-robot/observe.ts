import type { Drift, Observation } from '../../engine/observation.ts';
import type { RobotServer } from './api/schema.ts';
import { findClaimedHost, type RobotStepContext, robotClientFor } from './context.ts';
import { markOf } from './mark.ts';
import { explainMissingServer } from './steps/release-proof.ts';

/** Machines are observed every minute. All of them together use six of the 200 calls an hour for servers. */
export const serverListMaxAgeSeconds = 590;

/** Observes a server with one read-only call for all servers of the account. */
export async function observe(context: RobotStepContext): Promise<Observation> {
  const host = await findClaimedHost(context);
  const lost = 'Delete the Machine to recreate it on another Host.';
  if (!host) return missingObservation(drift('HostLost', `The Machine no longer holds a Host. ${lost}`));
  const servers = await robotClientFor(context, context.hosts.servers).listServers({
    signal: context.signal,
    maxAgeSeconds: serverListMaxAgeSeconds,
  });
  const server = servers.find(({ number }) => number === host.number);
  // A server that is not listed may still run. Whether its node answers decides.
  if (!server) {
    const { reason, message } = explainMissingServer(context, host.number);
    return { exists: true, drift: [drift(reason, message)] };
  }
  return { exists: true, drift: findDrift(server, markOf(context.owner)) };
}

const drift = (reason: string, message: string): Drift => ({ reason, message });
const missingObservation = (why: Drift): Observation => ({ exists: false, drift: [why] });

function findDrift({ number, name, cancelled, paidUntil }: RobotServer, mark: string): Drift[] {
  const end = `Server ${number} was cancelled, paid until ${paidUntil ?? 'an unknown date'}.`;
  const named = `The name of server ${number} in Robot was changed from ${mark} to "${name}". Restore the name.`;
  return [
    ...(cancelled
      ? [drift('ServerCancelled', `${end} Withdraw the cancellation, or delete the Machine before that date.`)]
      : []),
    ...(name === mark ? [] : [drift('ServerRenamed', named)]),
  ];
}
