import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import type { CallInterceptor, Fault } from '../../faults/call-interceptor.ts';
import { type ApiUser, authenticateRequest, bearerOf } from '../auth/authentication.ts';
import { resolveImpersonation } from '../auth/impersonation.ts';
import { authorizeByRbac } from '../auth/rbac.ts';
import { ApiError, forbiddenError, internalError, unauthorizedError } from '../errors.ts';
import type { ApiBackend, RequestContext } from './context.ts';
import { handleRequest } from './handle-request.ts';
import { bodyText, readBody } from './read-body.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { type ApiResponse, apiErrorResponse, sendResponse } from './response.ts';

/** The steps of every request: interceptor, body, authentication, authorization, work, answer. */
export function createRequestListener(
  backend: ApiBackend,
  switchboard: CallInterceptor | undefined,
  simulator: string,
): RequestListener {
  return (message, response) => {
    response.on('error', () => response.destroy());
    serve(backend, switchboard, simulator, message, response).catch((error: unknown) => {
      const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`world/kube: ${words}\n`);
      sendResponse(response, apiErrorResponse(internalError(error instanceof Error ? error.message : String(error))));
    });
  };
}

async function serve(
  backend: ApiBackend,
  switchboard: CallInterceptor | undefined,
  simulator: string,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const info = parseRequestInfo(message.method ?? 'GET', message.url ?? '/');
  const detail = { query: Object.fromEntries(info.query), agent: message.headers['user-agent'] ?? '' };
  const body = await readBody(message);
  const fault = switchboard?.pass(
    simulator,
    `${message.method} ${info.path}`,
    detail,
    body,
    message.socket.remoteAddress,
  );
  if (await applyFaultBeforeCall(fault)) {
    message.socket.destroy();
    return;
  }
  if (fault?.kind === 'error') return sendResponse(response, faultResponse(fault));
  await backend.auth.oidc.prepare(bearerOf(message));
  const warnings: string[] = [];
  const answer = handleAuthenticated(backend, info, message, response, body, warnings);
  if (await applyFaultAfterCall(fault)) message.socket.destroy();
  else if (answer) sendResponse(response, answer, warnings);
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function faultResponse(fault: Fault & { kind: 'error' }): ApiResponse {
  const code = fault.status ?? 500;
  const reason = fault.code ?? reasons[code] ?? 'InternalError';
  const { status } = new ApiError(code, reason, 'the world was told to fail here');
  return { code, body: fault.body ?? status, ...(fault.headers ? { headers: fault.headers } : {}) };
}

function handleAuthenticated(
  backend: ApiBackend,
  info: RequestInfo,
  message: IncomingMessage,
  response: ServerResponse,
  body: Buffer | undefined,
  warnings: string[],
): ApiResponse | undefined {
  try {
    if (!backend.storage.available) throw etcdUnavailableError(info);
    const caller = authenticateRequest(backend.auth, message);
    if (!caller) throw unauthorizedError();
    const user = resolveImpersonation(backend.storage, caller, message);
    checkAccess(backend, info, user);
    const context: RequestContext = {
      ...backend,
      info,
      user,
      userAgent: message.headers['user-agent'] ?? '',
      warnings,
    };
    const { text, contentType } = bodyText(body, message.headers['content-type'] ?? '');
    return handleRequest({ context, body: text, contentType, message, response });
  } catch (error) {
    if (error instanceof ApiError) return apiErrorResponse(error);
    throw error;
  }
}

const etcdUnavailableError = (info: RequestInfo): ApiError =>
  ['/readyz', '/healthz', '/livez'].includes(info.path)
    ? internalError('[-]etcd failed: reason withheld')
    : new ApiError(500, '', 'etcdserver: no leader');

const notYetAuthorizing = { allowed: false, reason: '' };

/** By the bootstrap roles, every authenticated user may read these paths. */
function checkAccess({ storage, registry, authorizesFrom }: ApiBackend, info: RequestInfo, user: ApiUser): void {
  const { verb, group, plural, subresource, namespace, name, path } = info;
  const attributes = info.isResource ? { verb, group, plural, subresource, namespace, name } : { verb, path };
  const isStarting = performance.now() < authorizesFrom && !user.groups.includes('system:masters');
  const { allowed, reason } = isStarting ? notYetAuthorizing : authorizeByRbac(storage, user, attributes);
  if (allowed) return;
  const because = reason ? `: ${reason}` : '';
  if (!info.isResource) {
    throw new ApiError(
      403,
      'Forbidden',
      `forbidden: User ${JSON.stringify(user.name)} cannot ${info.verb} path ${JSON.stringify(info.path)}${because}`,
      {},
    );
  }
  const type = registry.find(info.group, info.version, info.plural) ?? { ...info, kind: '' };
  const asked = subresource ? `${plural}/${subresource}` : plural;
  const where = info.namespace ? `in the namespace ${JSON.stringify(info.namespace)}` : 'at the cluster scope';
  throw forbiddenError(
    { group: type.group, plural: type.plural, kind: type.kind },
    info.name ?? '',
    `User ${JSON.stringify(user.name)} cannot ${info.verb} resource ${JSON.stringify(asked)} in API group ${JSON.stringify(info.group)} ${where}${because}`,
  );
}
