import type { IncomingMessage } from 'node:http';
import type { Fault } from '../../switchboard.ts';
import type { Account, Robot } from '../state.ts';
import { admit } from './auth.ts';
import { spend } from './budget.ts';
import type { Ask, Reply } from './endpoint.ts';
import { envelope, invalidInput, notFound, RobotError } from './errors.ts';
import { order } from './forbidden.ts';
import { parseForm } from './form.ts';
import type { Route } from './router.ts';

/** A reply as it goes over the wire: a text as a body is sent as it is. */
export interface WireReply extends Reply {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Incoming {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly body: string;
  readonly from: string;
  readonly route: Route;
}

/**
 * Answers one call: down for maintenance, who is it, what is it, is there any budget left, and then the work. A fault stands in for
 * the work: who is refused before does not meet it.
 */
export async function answer(robot: Robot, incoming: Incoming, fault: Fault | undefined): Promise<WireReply> {
  try {
    if (robot.maintenance) return maintenance;
    const account = admit(robot, incoming.request.headers.authorization, incoming.from);
    return await work(robot, account, incoming, fault);
  } catch (error) {
    if (!(error instanceof RobotError)) throw error;
    const headers = error.status === 401 ? { 'www-authenticate': 'Basic realm="Robot Webservice"' } : {};
    return { status: error.status, body: error.body, headers };
  }
}

const maintenance: WireReply = {
  status: 503,
  body: '<html><body><h1>Service Unavailable</h1></body></html>',
  headers: { 'content-type': 'text/html' },
};

async function work(
  robot: Robot,
  account: Account,
  { request, url, body, from, route }: Incoming,
  fault: Fault | undefined,
): Promise<WireReply> {
  const { endpoint, params } = route;
  const method = request.method ?? '';
  if (endpoint?.group) spend(robot, account, endpoint.group, method);
  if (fault?.kind === 'error') return broken(fault);
  if (body !== '' && !isForm(request, body)) throw invalidInput();
  const ask: Ask = { robot, account, params, query: url.searchParams, form: parseForm(body), from };
  if (endpoint) return await endpoint.handle(ask);
  if (/^\/order(?:\/|$)/.test(url.pathname)) return order(ask, method, url.pathname);
  // Clients try their credentials here; what the real one answers them is not documented.
  if (url.pathname === '/' && method === 'GET') return { status: 200, body: {} };
  throw notFound();
}

function isForm(request: IncomingMessage, body: string): boolean {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || /^\s*[{[]/.test(body)) return false;
  return type === '' || type === 'application/x-www-form-urlencoded';
}

function broken(fault: Extract<Fault, { kind: 'error' }>): WireReply {
  const status = fault.status ?? 500;
  const code = fault.code ?? 'INTERNAL_ERROR';
  const body = fault.body === undefined ? envelope(status, code, 'this was asked for') : fault.body;
  return { status, body, ...(fault.headers && { headers: fault.headers }) };
}
