import type { ProviderConfig } from '../api/provider-config.ts';
import type { Finding } from '../engine/platform.ts';
import { parseIpv4 } from '../lib/ipv4.ts';
import { fixedAddress } from './provider-config/check-hosts.ts';
import { invalid } from './provider-config/finding.ts';
import type { Services } from './services.ts';

type Stores = Pick<Services['stores'], 'providerConfigs'>;

/** Addresses at which clusters are reached without having claimed them. No pool may give them away. */
export function reservedAddresses(stores: Stores): ReadonlySet<string> {
  const all = stores.providerConfigs.list().map(({ spec }) => spec?.controlPlane && fixedAddress(spec));
  return new Set(all.filter((address) => address !== undefined));
}

/** An endpoint in one form: with its port, in lower case. */
const endpointOf = ({ spec }: ProviderConfig): string | undefined => {
  const text = spec?.controlPlane?.endpoint?.toLowerCase();
  return text === undefined || /[^:]:\d+$/.test(text) ? text : `${text}:6443`;
};

/** Of those that say the same the oldest has it. */
const rank = ({ metadata }: ProviderConfig): string => `${metadata.creationTimestamp} ${metadata.name}`;

/** Whether the fixed endpoint of a ProviderConfig belongs to somebody else already: another one, or a node. */
export async function checkEndpointIsFree(
  { stores, addresses }: Pick<Services, 'stores' | 'addresses'>,
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<Finding[]> {
  const endpoint = endpointOf(config);
  if (endpoint === undefined) return [];
  const field = 'controlPlane.endpoint';
  const elder = stores.providerConfigs
    .list()
    .find((other) => endpointOf(other) === endpoint && rank(other) < rank(config));
  if (elder) {
    const message = `ProviderConfig ${elder.metadata.name} has ${endpoint} as well, and only one cluster can be there. Choose another.`;
    return [invalid(field, message)];
  }
  const address = fixedAddress(config.spec);
  if (address === undefined || parseIpv4(address) === undefined) return [];
  const holder = await addresses.holderOf(address, signal);
  if (holder === undefined) return [];
  return [invalid(field, `${address} was given to ${holder} out of an address pool. Choose another.`)];
}
