import { countLoginFailure, unauthorizedRobotError } from '../authentication.ts';
import type { RobotEndpoint, WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError } from '../errors.ts';

/** Orders need a separate permission; without it the login counts as a failed one. */
export const rejectOrder = (ask: WebserviceRequest, name: string): never => {
  recordForbiddenCall(ask, name);
  countLoginFailure(ask.robot, ask.from);
  throw unauthorizedRobotError();
};

function recordForbiddenCall({ robot, params }: WebserviceRequest, name: string): void {
  robot.forbidden.push(name.replace(/\{(\w+)\}/g, (_, value: string) => params[value] ?? value));
}

const paths = [
  '/server/{n}/cancellation',
  '/server/{n}/reversal',
  '/ip/{ip}/cancellation',
  '/subnet/{ip}/cancellation',
];

/** Calls that end a contract are recorded and never executed: a test with any record here has found a severe bug. */
export const forbiddenEndpoints: readonly RobotEndpoint[] = paths.flatMap((path) =>
  ['GET', 'POST', 'PUT', 'DELETE'].map((method) => ({
    name: `${method} ${path}`,
    group: 'cancellation' as const,
    handle: (ask) => {
      recordForbiddenCall(ask, `${method} ${path}`);
      throw conflictRobotError('CONFLICT', 'this world does not end contracts');
    },
  })),
);
