import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { endsAfter, endsBefore } from '../course.ts';
import type { Fault, Switchboard } from '../switchboard.ts';
import { authenticate, bearerOf, type User } from './authn.ts';
import { readBody, textOf } from './body.ts';
import type { Backend, Context } from './context.ts';
import { ApiError, forbidden, internal, unauthorized } from './errors.ts';
import { handle } from './handle.ts';
import { impersonate } from './impersonate.ts';
import { authorize } from './rbac.ts';
import { parseRequest, type RequestInfo } from './request.ts';
import { type Answer, ofError, send } from './respond.ts';

/** Takes every request through the same doors: switchboard, body, authentication, authorization, work, answer. */
export function listener(backend: Backend, switchboard: Switchboard | undefined, room: string): RequestListener {
  return (message, response) => {
    response.on('error', () => response.destroy());
    serve(backend, switchboard, room, message, response).catch((error: unknown) => {
      const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`world/kube: ${words}\n`);
      send(response, ofError(internal(error instanceof Error ? error.message : String(error))));
    });
  };
}

async function serve(
  backend: Backend,
  switchboard: Switchboard | undefined,
  room: string,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const info = parseRequest(message.method ?? 'GET', message.url ?? '/');
  const detail = { query: Object.fromEntries(info.query), agent: message.headers['user-agent'] ?? '' };
  const body = await readBody(message);
  const fault = switchboard?.pass(room, `${message.method} ${info.path}`, detail, body, message.socket.remoteAddress);
  if (await endsBefore(fault)) {
    message.socket.destroy();
    return;
  }
  if (fault?.kind === 'error') return send(response, faultAnswer(fault));
  await backend.auth.oidc.prepare(bearerOf(message));
  const warnings: string[] = [];
  const answer = work(backend, info, message, response, body, warnings);
  if (await endsAfter(fault)) message.socket.destroy();
  else if (answer) send(response, answer, warnings);
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

function faultAnswer(fault: Fault & { kind: 'error' }): Answer {
  const code = fault.status ?? 500;
  const reason = fault.code ?? reasons[code] ?? 'InternalError';
  const { status } = new ApiError(code, reason, 'the world was told to fail here');
  return { code, body: fault.body ?? status, ...(fault.headers ? { headers: fault.headers } : {}) };
}

function work(
  backend: Backend,
  info: RequestInfo,
  message: IncomingMessage,
  response: ServerResponse,
  body: Buffer | undefined,
  warnings: string[],
): Answer | undefined {
  try {
    if (!backend.storage.available) throw withoutEtcd(info);
    const caller = authenticate(backend.auth, message);
    if (!caller) throw unauthorized();
    const user = impersonate(backend.storage, caller, message);
    checkAccess(backend, info, user);
    const context: Context = { ...backend, info, user, userAgent: message.headers['user-agent'] ?? '', warnings };
    const { text, contentType } = textOf(body, message.headers['content-type'] ?? '');
    return handle({ context, body: text, contentType, message, response });
  } catch (error) {
    if (error instanceof ApiError) return ofError(error);
    throw error;
  }
}

const withoutEtcd = (info: RequestInfo): ApiError =>
  ['/readyz', '/healthz', '/livez'].includes(info.path)
    ? internal('[-]etcd failed: reason withheld')
    : new ApiError(500, '', 'etcdserver: no leader');

const nothingYet = { allowed: false, reason: '' };

/** Paths that say nothing worth protecting are open to whoever is authenticated, by the bootstrap roles. */
function checkAccess({ storage, registry, authorizesFrom }: Backend, info: RequestInfo, user: User): void {
  const { verb, group, plural, subresource, namespace, name, path } = info;
  const attributes = info.isResource ? { verb, group, plural, subresource, namespace, name } : { verb, path };
  const isStarting = performance.now() < authorizesFrom && !user.groups.includes('system:masters');
  const { allowed, reason } = isStarting ? nothingYet : authorize(storage, user, attributes);
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
  throw forbidden(
    { group: type.group, plural: type.plural, kind: type.kind },
    info.name ?? '',
    `User ${JSON.stringify(user.name)} cannot ${info.verb} resource ${JSON.stringify(asked)} in API group ${JSON.stringify(info.group)} ${where}${because}`,
  );
}
