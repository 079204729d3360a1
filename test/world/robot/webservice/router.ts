import { addressEndpoints } from './addresses.ts';
import { bootEndpoints } from './boot.ts';
import type { Endpoint } from './endpoint.ts';
import { failoverEndpoints } from './failover.ts';
import { firewallEndpoints } from './firewall.ts';
import { firewallTemplateEndpoints } from './firewall-templates.ts';
import { forbiddenEndpoints } from './forbidden.ts';
import { keyEndpoints } from './keys.ts';
import { rdnsEndpoints } from './rdns.ts';
import { resetEndpoints } from './resets.ts';
import { serverEndpoints } from './servers.ts';
import { trafficEndpoints } from './traffic.ts';
import { vswitchEndpoints } from './vswitch.ts';
import { wolEndpoints } from './wol.ts';

/** What the webservice can be asked. The first one that fits is taken. */
const endpoints: readonly Endpoint[] = [
  ...serverEndpoints,
  ...forbiddenEndpoints,
  ...addressEndpoints,
  ...resetEndpoints,
  ...bootEndpoints,
  ...keyEndpoints,
  ...wolEndpoints,
  ...rdnsEndpoints,
  ...trafficEndpoints,
  ...failoverEndpoints,
  ...firewallTemplateEndpoints,
  ...firewallEndpoints,
  ...vswitchEndpoints,
];

const table = endpoints.map((endpoint) => ({ endpoint, steps: endpoint.path.split('/') }));

export interface Route {
  /** Undefined: there is nothing at this path. */
  readonly endpoint: Endpoint | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** As the switchboard knows the call. */
  readonly name: string;
  readonly isYaml: boolean;
}

/** Finds who answers. `.yaml` after the path asks for the answer in YAML. */
export function findRoute(method: string, path: string): Route {
  const isYaml = path.endsWith('.yaml');
  const plain = (isYaml ? path.slice(0, -'.yaml'.length) : path).replace(/(?<=.)\/$/, '');
  const words = plain.split('/').map(decode);
  for (const { endpoint, steps } of table) {
    const params = endpoint.method === method ? matchSteps(steps, words) : undefined;
    if (params) return { endpoint, params, name: `${method} ${endpoint.path}`, isYaml };
  }
  return { endpoint: undefined, params: {}, name: `${method} ${plain}`, isYaml };
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
