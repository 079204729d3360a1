import type { Observation } from '../../engine/platform.ts';
import { type Context, robotOf } from './ground.ts';
import { markOf } from './mark.ts';

/** Machines are looked at every minute; of the 200 calls an hour that tell of servers, all of them together use six. */
export const maxAgeSeconds = 590;

/** What has become of a server. One call for all servers of the account, which changes nothing. */
export async function observe(context: Context): Promise<Observation> {
  const host = await context.hosts.held();
  if (!host) return { exists: false };
  const { serverNumber } = host.spec;
  const servers = await robotOf(context, context.hosts.servers).listServers({ signal: context.signal, maxAgeSeconds });
  const server = servers.find(({ number }) => number === serverNumber);
  if (!server) return { exists: false };
  const mark = markOf(context.owner);
  const said = [
    ...(server.cancelled
      ? [`Server ${serverNumber} was cancelled, paid until ${server.paidUntil ?? 'an unknown day'}.`]
      : []),
    ...(server.name === mark
      ? []
      : [`Server ${serverNumber} was renamed from ${mark} to ${server.name || 'nothing'}.`]),
  ];
  return { exists: true, ...(said.length > 0 ? { drift: said.join(' ') } : {}) };
}
