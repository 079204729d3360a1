import { ProviderError } from '../../../lib/errors.ts';
import type { Field } from './form.ts';
import { type Kind, kinds, type Route, routes } from './routes.ts';

/** A call before it is sent. */
export interface Request {
  readonly method: Route['method'];
  readonly path: string;
  readonly query?: readonly Field[];
  readonly form?: readonly Field[];
}

/** What may be named in a call. */
export interface Bounds {
  /** Numbers of the servers that have a Host object. */
  readonly servers: ReadonlySet<number>;
  /** Failover addresses that the configuration names. */
  readonly failovers: ReadonlySet<string>;
  /** The server whose main address or main network this is, as far as Robot has told. */
  ownerOf(address: string): number | undefined;
}

/** A call that may be sent. */
export interface Permitted {
  readonly route: Route;
  /** The servers that it names. */
  readonly servers: readonly number[];
}

/**
 * The gate that every call passes right before it is sent. It knows only what is going over the wire, so no way of making
 * a call leads past it: what the table of routes does not have is refused, and so is every server, address or other value
 * that is not within the bounds. A webservice user may do everything to every server of the account, contracts included.
 *
 * Throws ROBOT_CALL_FORBIDDEN, or ROBOT_SERVER_NOT_LISTED where a Host object would make it right.
 */
export function permit(request: Request, bounds: Bounds): Permitted {
  const words = request.path.split('/');
  const route = routes.find((one) => one.method === request.method && fits(one.path.split('/'), words));
  if (!route) throw new ProviderError('ROBOT_CALL_FORBIDDEN', `${request.method} ${request.path.slice(0, 100)}.`);
  const named: number[] = [];
  for (const { kind, name, value } of valuesOf(request, route)) {
    const refusal = kind ? checks[kind](value, bounds, named) : 'not known';
    if (refusal === undefined) continue;
    const where = `${nameOf(route)}: ${name}`;
    if (refusal === 'not listed') throw new ProviderError('ROBOT_SERVER_NOT_LISTED', `${where} ${value}.`);
    throw new ProviderError('ROBOT_CALL_FORBIDDEN', `${where} is ${refusal}.`);
  }
  return { route, servers: named };
}

interface Value {
  /** Undefined: nobody knows what it would do. */
  readonly kind: Kind | undefined;
  readonly name: string;
  readonly value: string;
}

/** Everything that a call names, in its path, query and form. */
function valuesOf({ path, query = [], form = [] }: Request, route: Route): readonly Value[] {
  const words = path.split('/');
  const inPath = route.path.split('/').flatMap((step, at) => (step.startsWith('{') ? [[step, words[at] ?? '']] : []));
  // Without its filter a call would be about everything.
  const lacking = Object.keys(route.query ?? {}).filter((name) => !query.some(([given]) => given === name));
  return [
    ...inPath.map(([name = '', value = '']) => ({ kind: kinds[name], name, value })),
    ...query.flatMap((field) => valuesIn(field, route.query)),
    ...lacking.map((name) => ({ kind: undefined, name, value: '' })),
    ...form.flatMap((field) => valuesIn(field, route.form)),
  ];
}

function valuesIn([name, value]: Field, known: Route['form'] = {}): readonly Value[] {
  const kind = Object.hasOwn(known, name) ? known[name] : undefined;
  return (typeof value === 'string' ? [value] : value).map((one) => ({ kind, name, value: one }));
}

/** As it is counted and shown: `POST /boot/{n}/rescue`. */
export const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

const fits = (steps: readonly string[], words: readonly string[]): boolean =>
  steps.length === words.length &&
  steps.every((step, at) => (step.startsWith('{') ? words[at] !== '' : step === words[at]));

type Check = (value: string, bounds: Bounds, named: number[]) => 'not listed' | 'not one' | undefined;

const pattern =
  (expression: RegExp): Check =>
  (value) =>
    expression.test(value) ? undefined : 'not one';

const checks: Readonly<Record<Kind, Check>> = {
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
  fingerprint: pattern(/^[0-9a-f]{2}(?::[0-9a-f]{2}){15}$/),
  id: pattern(/^[1-9]\d{0,14}$/),
  vlan: pattern(/^40[0-8]\d$|^409[01]$/),
  'reset-type': pattern(/^(?:sw|hw|power|power_long)$/),
  system: pattern(/^linux$/),
  text: () => undefined,
};
