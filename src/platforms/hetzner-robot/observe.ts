import type { Drift, Observation } from '../../engine/observation.ts';
import type { RobotServer } from './api/schema.ts';
import { type RobotStepContext, robotClientFor } from './context.ts';
import { markOf } from './mark.ts';
import { explainMissingServer } from './steps/release-proof.ts';

/** Machines are looked at every minute; of the 200 calls an hour that tell of servers, all of them together use six. */
export const serverListMaxAgeSeconds = 590;

/** What has become of a server. One call for all servers of the account, which changes nothing. */
export async function observe(context: RobotStepContext): Promise<Observation> {
  const host = await context.hosts.held();
  const lost = 'Delete the Machine to have it made anew on another one.';
  if (!host) return missingObservation(drift('HostLost', `No Host is held by the machine any more. ${lost}`));
  const { serverNumber } = host.spec;
  const servers = await robotClientFor(context, context.hosts.servers).listServers({
    signal: context.signal,
    maxAgeSeconds: serverListMaxAgeSeconds,
  });
  const server = servers.find(({ number }) => number === serverNumber);
  // That it is not listed does not mean that it does not run: whether its node answers decides.
  if (!server) {
    const { reason, message } = explainMissingServer(context, serverNumber);
    return { exists: true, drift: [drift(reason, message)] };
  }
  return { exists: true, drift: findDrift(server, markOf(context.owner)) };
}

const drift = (reason: string, message: string): Drift => ({ reason, message });
const missingObservation = (why: Drift): Observation => ({ exists: false, drift: [why] });

function findDrift({ number, name, cancelled, paidUntil }: RobotServer, mark: string): Drift[] {
  const end = `Server ${number} was cancelled, paid until ${paidUntil ?? 'an unknown day'}.`;
  const named = `Server ${number} was renamed from ${mark} to ${name || 'nothing'}. Name it ${mark} again.`;
  return [
    ...(cancelled ? [drift('ServerCancelled', `${end} Withdraw that, or delete the Machine before.`)] : []),
    ...(name === mark ? [] : [drift('ServerRenamed', named)]),
  ];
}
