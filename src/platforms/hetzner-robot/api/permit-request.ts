import { HetznerRobotError } from '../error-codes.ts';
import type { FormField } from './form.ts';
import { placeholderKinds, type RobotRoute, routes, type ValueKind } from './routes.ts';

/** A call before it is sent. */
export interface RobotRequest {
  readonly method: RobotRoute['method'];
  readonly path: string;
  readonly form?: readonly FormField[];
}

/** The values that a call may name. */
export interface RequestBounds {
  /** Numbers of the servers that have a Host object. */
  readonly servers: ReadonlySet<number>;
  /** Failover addresses that the configuration names. */
  readonly failovers: ReadonlySet<string>;
  /** The server with this main address or main network, as far as Robot has reported it. */
  ownerOf(address: string): number | undefined;
}

/** A call that passed the check. */
export interface PermittedRequest {
  readonly route: RobotRoute;
  /** The servers that the call names. */
  readonly servers: readonly number[];
}

/**
 * The check that every call passes right before it is sent. It sees exactly what is sent, so no call bypasses it: a
 * call without a route is refused, and so is every server, address or other value outside the scope. A webservice user
 * may do anything to every server of the account, contracts included.
 *
 * Throws ROBOT_CALL_FORBIDDEN, or ROBOT_SERVER_NOT_LISTED where a Host object would allow the call.
 */
export function permitRequest(request: RobotRequest, bounds: RequestBounds): PermittedRequest {
  const segments = request.path.split('/');
  const route = routes.find((one) => one.method === request.method && matchesPath(one.path.split('/'), segments));
  if (!route) throw new HetznerRobotError('ROBOT_CALL_FORBIDDEN', `${request.method} ${request.path.slice(0, 100)}.`);
  const named: number[] = [];
  for (const { kind, name, value } of requestValues(request, route)) {
    const rejection = kind ? valueChecks[kind](value, bounds, named) : 'not known';
    if (rejection === undefined) continue;
    const where = `${routeNameOf(route)}: ${name}`;
    if (rejection === 'not listed') throw new HetznerRobotError('ROBOT_SERVER_NOT_LISTED', `${where} ${value}.`);
    throw new HetznerRobotError('ROBOT_CALL_FORBIDDEN', `${where} is ${rejection}.`);
  }
  return { route, servers: named };
}

interface NamedValue {
  /** Undefined: the call matches no route. */
  readonly kind: ValueKind | undefined;
  readonly name: string;
  readonly value: string;
}

/** All values that a call names in its path and form. */
function requestValues({ path, form = [] }: RobotRequest, route: RobotRoute): readonly NamedValue[] {
  const segments = path.split('/');
  const inPath = route.path
    .split('/')
    .flatMap((step, at) => (step.startsWith('{') ? [[step, segments[at] ?? '']] : []));
  return [
    ...inPath.map(([name = '', value = '']) => ({ kind: placeholderKinds[name], name, value })),
    ...form.flatMap((field) => fieldValues(field, route.form)),
  ];
}

function fieldValues([name, value]: FormField, known: RobotRoute['form'] = {}): readonly NamedValue[] {
  const kind = Object.hasOwn(known, name) ? known[name] : undefined;
  return (typeof value === 'string' ? [value] : value).map((one) => ({ kind, name, value: one }));
}

/** The route as it is counted and shown: `POST /boot/{n}/rescue`. */
export const routeNameOf = ({ method, path }: RobotRoute): string => `${method} ${path}`;

const matchesPath = (steps: readonly string[], segments: readonly string[]): boolean =>
  steps.length === segments.length &&
  steps.every((step, at) => (step.startsWith('{') ? segments[at] !== '' : step === segments[at]));

type ValueCheck = (value: string, bounds: RequestBounds, named: number[]) => 'not listed' | 'not one' | undefined;

const matchesPattern =
  (expression: RegExp): ValueCheck =>
  (value) =>
    expression.test(value) ? undefined : 'not one';

const valueChecks: Readonly<Record<ValueKind, ValueCheck>> = {
  server: (value, { servers }, named) => {
    if (!/^[1-9]\d{0,14}$/.test(value)) return 'not one';
    named.push(Number(value));
    return servers.has(Number(value)) ? undefined : 'not listed';
  },
  address: (value, { servers, ownerOf }, named) => {
    if (!/^[0-9a-f.:]{2,45}$/.test(value)) return 'not one';
    const owner = ownerOf(value);
    if (owner !== undefined) named.push(owner);
    return owner !== undefined && servers.has(owner) ? undefined : 'not listed';
  },
  failover: (value, { failovers }) => {
    if (!/^[0-9a-f.:]{2,45}$/.test(value)) return 'not one';
    return failovers.has(value) ? undefined : 'not listed';
  },
  fingerprint: matchesPattern(/^[0-9a-f]{2}(?::[0-9a-f]{2}){15}$/),
  id: matchesPattern(/^[1-9]\d{0,14}$/),
  vlan: matchesPattern(/^40[0-8]\d$|^409[01]$/),
  'reset-type': matchesPattern(/^(?:sw|hw|power|power_long)$/),
  system: matchesPattern(/^linux$/),
  text: () => undefined,
};
