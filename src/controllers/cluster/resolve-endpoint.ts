import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { ProviderError } from '../../lib/errors.ts';
import { toAuthority } from '../../lib/net/ip.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import { reservedAddresses } from '../shared/addresses/fixed-endpoints.ts';
import { readMachineFact } from '../shared/machine-facts.ts';
import { annotateClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import type { ClusterView } from './view.ts';

type ResolvedEndpoint = Pick<ClusterView, 'secrets' | 'endpoint' | 'noAddress'>;

/**
 * Returns the endpoint in the spec of the Machines. Without Machines, it comes from the ProviderConfig or from an
 * address of the pool. Otherwise it is the address of the first control plane, whose Machine must be created first.
 */
export async function resolveEndpoint(
  services: Services,
  view: ClusterView,
  signal: AbortSignal,
): Promise<ResolvedEndpoint> {
  const [first] = view.machines;
  const found = (url: string | undefined, virtualAddress?: string): ResolvedEndpoint => ({
    secrets: view.secrets,
    endpoint: { url, virtualAddress },
    noAddress: undefined,
  });
  if (first?.spec.endpoint) return found(first.spec.endpoint, first.spec.virtualAddress);
  if (first) return await resolveAtControlPlane(services, view, signal);
  if (view.fixedEndpoint) return found(`https://${view.fixedEndpoint.at}`);
  if (view.addressing?.endpoint === 'first-node') return found(undefined);
  try {
    const holder = addressHolder.cluster(view.ref);
    const pool = view.spec?.network.addressPool ?? [];
    const address = await services.addresses.claim(holder, pool, reservedAddresses(services), signal);
    return found(`https://${toAuthority(address, 6443)}`, address);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'ADDRESS_POOL_EMPTY') throw error;
    const message = `ProviderConfig ${view.config?.metadata.name}: ${error.message}`;
    return { secrets: view.secrets, endpoint: undefined, noAddress: message };
  }
}

/**
 * Uses the first control plane that has an address. The endpoint is recorded before it is published: nodes have it in
 * their configuration, and it stays when that machine is replaced.
 */
async function resolveAtControlPlane(
  services: Services,
  view: ClusterView,
  signal: AbortSignal,
): Promise<ResolvedEndpoint> {
  const { secrets, machines } = view;
  const at = (url: string | undefined) => ({ endpoint: { url, virtualAddress: undefined }, noAddress: undefined });
  const address = machines
    .filter(isControlPlane)
    .map(addressOf)
    .find((known) => known !== undefined);
  if (!secrets || secrets.endpoint || address === undefined) return { secrets, ...at(secrets?.endpoint) };
  const url = `https://${toAuthority(address, 6443)}`;
  const noted = await annotateClusterSecrets(services.kube, secrets, { [annotations.endpoint]: url }, signal);
  return { secrets: noted, ...at(url) };
}

const isControlPlane = ({ spec, metadata }: Machine): boolean =>
  spec.role === 'controlplane' && !metadata.deletionTimestamp;

const addressOf = (machine: Machine): string | undefined => readMachineFact(machine, 'address');
