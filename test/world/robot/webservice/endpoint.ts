import { isIPv4 } from 'node:net';
import type { Account, Robot, Server } from '../state.ts';
import type { Group } from './budget.ts';
import { notFound } from './errors.ts';
import type { FormArray } from './form.ts';

/** A call that was let in. */
export interface Ask {
  readonly robot: Robot;
  readonly account: Account;
  /** Values of the `{…}` in the endpoint's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: FormArray;
  readonly from: string;
}

/** Undefined as a body is an empty one. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** E.g. `/boot/{n}/rescue`. With the method it is the name of the call at the switchboard. */
  readonly path: string;
  /** Null: it draws on no budget. */
  readonly group: Group | null;
  /** Throws a RobotError. */
  handle(ask: Ask): Reply | Promise<Reply>;
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const created = (body?: unknown): Reply => ({ status: 201, body });
export const empty: Reply = { status: 200 };

/** Servers of an account, by number. */
export const serversOf = (robot: Robot, account: Account): Server[] =>
  [...robot.servers.values()].filter((one) => one.account === account).sort((a, b) => a.number - b.number);

/** The server that `word` names: by number, or by its main address as in former times. Others' do not exist. */
export function findServer(robot: Robot, account: Account, word: string): Server | undefined {
  const mine = serversOf(robot, account);
  if (isIPv4(word)) return mine.find(({ address }) => address === word);
  return /^\d+$/.test(word) ? mine.find(({ number }) => number === Number(word)) : undefined;
}

/** The server in the path. */
export function serverIn({ robot, account, params }: Ask): Server {
  const server = findServer(robot, account, params['n'] ?? '');
  if (!server) throw notFound('SERVER_NOT_FOUND', 'server not found');
  return server;
}

/** Stands at the head of most answers. */
export const identityOf = (server: Server) => ({
  server_ip: server.address,
  server_ipv6_net: server.ipv6Net,
  server_number: server.number,
});

/** Some lists are 404 when there is nothing in them. */
export function filled<T>(list: readonly T[]): readonly T[] {
  if (list.length === 0) throw notFound();
  return list;
}
