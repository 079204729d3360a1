import type { IncomingMessage } from 'node:http';
import type { Context } from './context.ts';
import { type Answer, ok, text } from './respond.ts';

/** Answers the paths that name no resource. */
export function discover(context: Context, _message: IncomingMessage): Answer {
  switch (context.info.path) {
    case '/version':
      return ok(versionInfo(context.gitVersion));
    case '/healthz':
    case '/livez':
    case '/readyz':
      return text(200, 'ok');
    default:
      return text(404, '404 page not found\n');
  }
}

function versionInfo(gitVersion: string) {
  const [, major = '1', minor = '36'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '2026-11-01T00:00:00Z',
    goVersion: 'go1.26.0',
    compiler: 'gc',
    platform: 'linux/amd64',
  };
}
