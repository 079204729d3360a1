import type { AccountState, RobotState, ServerState } from '../state.ts';
import { notFoundRobotError } from './errors.ts';
import type { BudgetGroup } from './request-budget.ts';

/** An authenticated call. */
export interface WebserviceRequest {
  readonly robot: RobotState;
  readonly account: AccountState;
  /** Values of the `{…}` in the endpoint's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly from: string;
}

/** Undefined, like an empty body. */
export interface EndpointReply {
  readonly status: number;
  readonly body?: unknown;
}

/** Throws a RobotError. */
export type RequestHandler = (ask: WebserviceRequest) => EndpointReply | Promise<EndpointReply>;

export interface RobotEndpoint {
  /** E.g. `GET /boot/{n}/rescue`: the name of the call at the interceptor. */
  readonly name: string;
  readonly group: BudgetGroup;
  readonly handle: RequestHandler;
}

/** An endpoint. Those with the same first word in their path share a budget. */
export const endpoint = (name: string, handle: RequestHandler): RobotEndpoint => ({
  name,
  group: (/\/(\w+)/.exec(name)?.[1] ?? '').replace('subnet', 'ip') as BudgetGroup,
  handle,
});

export const okReply = (body: unknown): EndpointReply => ({ status: 200, body });
export const createdReply = (body?: unknown): EndpointReply => ({ status: 201, body });
export const emptyReply: EndpointReply = { status: 200 };

/** Servers of an account, by number. */
export const serversOf = (robot: RobotState, account: AccountState): ServerState[] =>
  [...robot.servers.values()].filter((one) => one.account === account).sort((a, b) => a.number - b.number);

/** The server with this number. Servers of other accounts do not exist. */
export function findServerByWord(robot: RobotState, account: AccountState, word: string): ServerState | undefined {
  return serversOf(robot, account).find(({ number }) => String(number) === word);
}

/** The server in the path. */
export function serverOfRequest({ robot, account, params }: WebserviceRequest): ServerState {
  const server = findServerByWord(robot, account, params['n'] ?? '');
  if (!server) throw notFoundRobotError('SERVER_NOT_FOUND', 'server not found');
  return server;
}

/** The common first fields of most answers. */
export const serverIdentityFields = (server: ServerState) => ({
  server_ip: server.address,
  server_ipv6_net: server.ipv6Net,
  server_number: server.number,
});

/** Some lists are 404 when they are empty. */
export function notFoundIfEmpty<T>(list: readonly T[]): readonly T[] {
  if (list.length === 0) throw notFoundRobotError();
  return list;
}
