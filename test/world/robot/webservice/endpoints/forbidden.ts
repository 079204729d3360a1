import { countLoginFailure, unauthorizedRobotError } from '../authentication.ts';
import type { RobotEndpoint, WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError } from '../errors.ts';

const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** Calls that end a contract are recorded and never executed: a test with any record here has found a severe bug. */
const forbiddenEndpointsAt = (path: string, group: RobotEndpoint['group'] = 'cancellation'): RobotEndpoint[] =>
  methods.map((method) => ({
    method,
    path,
    group,
    handle: (ask) => {
      recordForbiddenCall(ask, method, path);
      throw conflictRobotError('CONFLICT', 'this world does not end contracts');
    },
  }));

/** Orders need a separate permission; without it the login counts as a failed one. */
export const rejectOrder = (ask: WebserviceRequest, method: string, path: string): never => {
  recordForbiddenCall(ask, method, path);
  countLoginFailure(ask.robot, ask.from);
  throw unauthorizedRobotError();
};

function recordForbiddenCall({ robot, params }: WebserviceRequest, method: string, path: string): void {
  robot.forbidden.push(`${method} ${path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? name)}`);
}

export const forbiddenEndpoints: readonly RobotEndpoint[] = [
  ...forbiddenEndpointsAt('/server/{n}/cancellation'),
  ...forbiddenEndpointsAt('/server/{n}/reversal'),
  ...forbiddenEndpointsAt('/ip/{ip}/cancellation'),
  ...forbiddenEndpointsAt('/subnet/{ip}/cancellation'),
];
