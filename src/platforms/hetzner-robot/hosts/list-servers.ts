import type { AccountContext, AccountServer } from '../../../engine/capabilities/hosts.ts';
import { connectRobot } from '../api/connect.ts';
import type { RobotServer } from '../api/schema.ts';
import { isMark } from '../mark.ts';

/** All servers of an account, by number. The scope of this connection is empty: it can only list servers. */
export async function listAccountServers(account: AccountContext): Promise<readonly AccountServer[]> {
  const none = { servers: () => new Set<number>(), failovers: () => new Set<string>() };
  const servers = await connectRobot(account, account, none).listServers({ signal: account.signal });
  return [...servers].sort((a, b) => a.number - b.number).map(toAccountServer);
}

function toAccountServer(server: RobotServer): AccountServer {
  const { number, name, address, product, dc } = server;
  return { ...{ id: String(number), name, address, product }, location: dc, warnings: warningsOf(server) };
}

function warningsOf({ name, address, cancelled, paidUntil, status }: RobotServer): string[] {
  const until = paidUntil === undefined ? '' : `, and paid until ${paidUntil}`;
  return [
    ...(cancelled ? [`The server was cancelled at Hetzner${until}.`] : []),
    ...(address === undefined ? ['The server has no IPv4 address, which is required.'] : []),
    ...(isMark(name) ? [`The server has the name ${name} in Robot, which marks servers in use.`] : []),
    ...(status === 'ready' ? [] : ['Hetzner is still setting up the server.']),
  ];
}
