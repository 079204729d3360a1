import type { RobotEndpoint } from './endpoint.ts';
import { addressEndpoints } from './endpoints/addresses.ts';
import { bootEndpoints } from './endpoints/boot.ts';
import { failoverEndpoints } from './endpoints/failover.ts';
import { forbiddenEndpoints } from './endpoints/forbidden.ts';
import { keyEndpoints } from './endpoints/keys.ts';
import { resetEndpoints } from './endpoints/resets.ts';
import { serverEndpoints } from './endpoints/servers.ts';
import { vswitchEndpoints } from './endpoints/vswitch.ts';

/** The endpoints of the webservice. The first match is used. */
const endpoints: readonly RobotEndpoint[] = [
  ...serverEndpoints,
  ...forbiddenEndpoints,
  ...addressEndpoints,
  ...resetEndpoints,
  ...bootEndpoints,
  ...keyEndpoints,
  ...failoverEndpoints,
  ...vswitchEndpoints,
];

const table = endpoints.map((endpoint) => ({ endpoint, steps: endpoint.name.split(/[ /]/) }));

export interface MatchedRoute {
  /** Undefined: the path does not exist. */
  readonly endpoint: RobotEndpoint | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The name of the call at the interceptor. */
  readonly name: string;
}

export function findRobotRoute(method: string, path: string): MatchedRoute {
  const words = [method, ...path.split('/').map(decode)];
  for (const { endpoint, steps } of table) {
    const params = matchSteps(steps, words);
    if (params) return { endpoint, params, name: endpoint.name };
  }
  return { endpoint: undefined, params: {}, name: `${method} ${path}` };
}

function matchSteps(steps: readonly string[], words: readonly string[]): Record<string, string> | undefined {
  if (steps.length !== words.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, step] of steps.entries()) {
    const word = words[index] ?? '';
    if (step.startsWith('{') && word !== '') params[step.slice(1, -1)] = word;
    else if (step !== word) return undefined;
  }
  return params;
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
