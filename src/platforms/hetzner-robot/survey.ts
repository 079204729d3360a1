import type { Account, FoundServer } from '../../engine/host.ts';
import { isMark } from './mark.ts';
import { connectRobot } from './robot/connect.ts';
import type { Server } from './robot/schema.ts';

/** All servers of an account, by their numbers. No server may be named by this connection: it asks for the list alone. */
export async function survey(account: Account): Promise<readonly FoundServer[]> {
  const none = { servers: () => new Set<number>(), failovers: () => new Set<string>() };
  const servers = await connectRobot(account, account, none).listServers({ signal: account.signal });
  return [...servers].sort((a, b) => a.number - b.number).map(describe);
}

function describe(server: Server): FoundServer {
  const { number, name, address, product, dc } = server;
  return { ...{ number, name, address, product }, location: dc, oddities: odditiesOf(server) };
}

function odditiesOf({ name, address, cancelled, paidUntil, status }: Server): string[] {
  const until = paidUntil === undefined ? '' : `, and paid until ${paidUntil}`;
  return [
    ...(cancelled ? [`It was cancelled at Hetzner${until}.`] : []),
    ...(address === undefined ? ['It has no IPv4 address, without which it cannot be reached.'] : []),
    ...(isMark(name) ? [`It is called ${name} in Robot, which is how servers in use are marked.`] : []),
    ...(status === 'ready' ? [] : ['Hetzner is still setting it up.']),
  ];
}
