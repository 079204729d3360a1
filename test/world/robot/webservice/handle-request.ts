import type { IncomingMessage } from 'node:http';
import type { Fault } from '../../faults/call-interceptor.ts';
import type { AccountState, RobotState } from '../state.ts';
import { authenticateAccount } from './authentication.ts';
import type { EndpointReply, WebserviceRequest } from './endpoint.ts';
import { rejectOrder } from './endpoints/forbidden.ts';
import { errorEnvelope, invalidInputError, notFoundRobotError, RobotError } from './errors.ts';
import { spendRequest } from './request-budget.ts';
import type { MatchedRoute } from './router.ts';

/** A response: a string body is sent unchanged. */
export interface WireReply extends EndpointReply {
  readonly headers?: Readonly<Record<string, string>>;
}

export interface IncomingRequest {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly body: string;
  readonly from: string;
  readonly route: MatchedRoute;
}

/**
 * Answers one call: maintenance, authentication, routing, budget, and then the work. A fault replaces the work: a call
 * that is refused before does not get it.
 */
export async function handleRobotRequest(
  robot: RobotState,
  incoming: IncomingRequest,
  fault: Fault | undefined,
): Promise<WireReply> {
  try {
    if (robot.maintenance) return maintenance;
    const account = authenticateAccount(robot, incoming.request.headers.authorization, incoming.from);
    return await callEndpoint(robot, account, incoming, fault);
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

async function callEndpoint(
  robot: RobotState,
  account: AccountState,
  { request, url, body, from, route }: IncomingRequest,
  fault: Fault | undefined,
): Promise<WireReply> {
  const { endpoint, params } = route;
  const method = request.method ?? '';
  if (endpoint) spendRequest(robot, account, endpoint.group, method);
  if (fault?.kind === 'error') return faultReply(fault);
  if (body !== '' && !isForm(request, body)) throw invalidInputError();
  const ask: WebserviceRequest = {
    robot,
    account,
    params,
    query: url.searchParams,
    form: new URLSearchParams(body),
    from,
  };
  if (endpoint) return await endpoint.handle(ask);
  if (/^\/order(?:\/|$)/.test(url.pathname)) return rejectOrder(ask, `${method} ${url.pathname}`);
  throw notFoundRobotError();
}

function isForm(request: IncomingMessage, body: string): boolean {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || /^\s*[{[]/.test(body)) return false;
  return type === '' || type === 'application/x-www-form-urlencoded';
}

function faultReply(fault: Extract<Fault, { kind: 'error' }>): WireReply {
  const status = fault.status ?? 500;
  const code = fault.code ?? 'INTERNAL_ERROR';
  const body = fault.body === undefined ? errorEnvelope(status, code, 'this was asked for') : fault.body;
  return { status, body, ...(fault.headers && { headers: fault.headers }) };
}
