import type { RequestContext } from '../request/context.ts';
import { type ApiResponse, textResponse } from '../request/response.ts';

const endpoints = ['healthz', 'livez', 'readyz'];
const checks = ['ping', 'log', 'etcd', 'informer-sync', 'poststarthook/start-apiextensions-controllers', 'shutdown'];

/** /healthz, /livez and /readyz, with `?verbose`, and each check under its own name. Undefined for other paths. */
export function healthResponse({ info }: RequestContext, path: string): ApiResponse | undefined {
  const [, endpoint = '', check] = /^\/(\w+)(?:\/(.+))?$/.exec(path) ?? [];
  if (!endpoints.includes(endpoint)) return undefined;
  if (check !== undefined) return checks.includes(check) ? textResponse(200, 'ok') : undefined;
  if (!info.query.has('verbose')) return textResponse(200, 'ok');
  return textResponse(200, `${checks.map((name) => `[+]${name} ok\n`).join('')}${endpoint} check passed\n`);
}
