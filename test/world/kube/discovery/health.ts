import type { Context } from '../context.ts';
import { type Answer, text } from '../respond.ts';

const endpoints = ['healthz', 'livez', 'readyz'];
const checks = ['ping', 'log', 'etcd', 'informer-sync', 'poststarthook/start-apiextensions-controllers', 'shutdown'];

/** /healthz, /livez and /readyz, with `?verbose`, and each check under its own name. Undefined for other paths. */
export function health({ info }: Context, path: string): Answer | undefined {
  const [, endpoint = '', check] = /^\/(\w+)(?:\/(.+))?$/.exec(path) ?? [];
  if (!endpoints.includes(endpoint)) return undefined;
  if (check !== undefined) return checks.includes(check) ? text(200, 'ok') : undefined;
  if (!info.query.has('verbose')) return text(200, 'ok');
  return text(200, `${checks.map((name) => `[+]${name} ok\n`).join('')}${endpoint} check passed\n`);
}
