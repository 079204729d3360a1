import type { ProviderConfig } from '../../../api/provider-config.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import type { Platform } from '../../../engine/platform.ts';
import { canonicalIp, toAuthority } from '../../../lib/net/ip.ts';
import type { Services } from '../services.ts';
import { endpointAddressOf } from '../spec/check-external-hosts.ts';
import { addressingOf } from '../spec/choose-platform.ts';
import { invalidField } from '../spec/invalid-field.ts';

/** The endpoint that a ProviderConfig fixes, so that it supports only one cluster. */
export interface FixedEndpoint {
  readonly at: string;
  /** The field that sets it, e.g. `controlPlane.endpoint`. */
  readonly field: string;
}

/** Undefined if each cluster gets its own endpoint. */
export function fixedEndpointOf(platforms: readonly Platform[], spec: ProviderConfigSpec): FixedEndpoint | undefined {
  const given = spec.controlPlane?.endpoint;
  if (given !== undefined)
    return { at: /[^:]:\d+$/.test(given) ? given : `${given}:6443`, field: 'controlPlane.endpoint' };
  const endpoint = addressingOf(platforms, spec)?.endpoint;
  return typeof endpoint === 'object' ? { at: toAuthority(endpoint.host, 6443), field: endpoint.field } : undefined;
}

type FixedEndpointServices = Pick<Services, 'platforms'> & {
  readonly stores: { readonly providerConfigs: Pick<Services['stores']['providerConfigs'], 'list'> };
};

/** Endpoint addresses that are used without a claim. No pool may assign them. */
export function reservedAddresses({ platforms, stores }: FixedEndpointServices): ReadonlySet<string> {
  const fixed = stores.providerConfigs.list().map(({ spec }) => spec && fixedEndpointOf(platforms, spec));
  const addresses = fixed.map((one) => one && endpointAddressOf(one.at)).filter((address) => address !== undefined);
  return new Set(addresses.map(canonicalIp));
}

/** The oldest ProviderConfig with an endpoint owns it. */
const ageOrderOf = ({ metadata }: ProviderConfig): string => `${metadata.creationTimestamp} ${metadata.name}`;

/** Reports if the fixed endpoint already belongs to another ProviderConfig or to a node. */
export async function checkFixedEndpointIsFree(
  {
    platforms,
    stores,
    addresses,
  }: FixedEndpointServices & { readonly addresses: Pick<Services['addresses'], 'holderOf'> },
  config: ProviderConfig,
  signal: AbortSignal,
): Promise<Diagnostic[]> {
  const endpointOf = ({ spec }: ProviderConfig): string | undefined =>
    spec && fixedEndpointOf(platforms, spec)?.at.toLowerCase();
  const own = fixedEndpointOf(platforms, config.spec);
  if (!own) return [];
  const older = stores.providerConfigs
    .list()
    .find((other) => endpointOf(other) === endpointOf(config) && ageOrderOf(other) < ageOrderOf(config));
  if (older) {
    const message = `ProviderConfig ${older.metadata.name} also has ${endpointOf(config)}, which only one cluster can use. Choose another endpoint.`;
    return [invalidField(own.field, message)];
  }
  const address = endpointAddressOf(own.at);
  if (address === undefined) return [];
  const holder = await addresses.holderOf(canonicalIp(address), signal);
  if (holder === undefined) return [];
  return [invalidField(own.field, `${address} is claimed by ${holder} from an address pool. Choose another address.`)];
}
