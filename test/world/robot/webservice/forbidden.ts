import { countFailure, unauthorized } from './auth.ts';
import type { Ask, Endpoint } from './endpoint.ts';
import { conflict } from './errors.ts';

const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** What ends a contract is written down and never done: a test that finds anything here has found a disaster. */
const refused = (path: string, group: Endpoint['group'] = 'cancellation'): Endpoint[] =>
  methods.map((method) => ({
    method,
    path,
    group,
    handle: (ask) => {
      remember(ask, method, path);
      throw conflict('CONFLICT', 'this world does not end contracts');
    },
  }));

/** Orders need a right of their own; without it the login counts as a failed one. */
export const order = (ask: Ask, method: string, path: string): never => {
  remember(ask, method, path);
  countFailure(ask.robot, ask.from);
  throw unauthorized();
};

function remember({ robot, params }: Ask, method: string, path: string): void {
  robot.forbidden.push(`${method} ${path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? name)}`);
}

export const forbiddenEndpoints: readonly Endpoint[] = [
  ...refused('/server/{n}/cancellation'),
  ...refused('/server/{n}/reversal'),
  ...refused('/ip/{ip}/cancellation'),
  ...refused('/subnet/{ip}/cancellation'),
];
