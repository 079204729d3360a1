import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { ProviderError } from '../../lib/errors.ts';
import { toAuthority } from '../../lib/ip.ts';
import { addressHolder } from '../address-leases.ts';
import { noteOnSecrets } from '../cluster-secrets.ts';
import { reservedAddresses } from '../fixed-endpoints.ts';
import type { Services } from '../services.ts';
import { type ClusterView, factOf } from './view.ts';

type Found = Pick<ClusterView, 'secrets' | 'endpoint' | 'noAddress'>;

/**
 * Where the machines were told that it is; before there are any, as the config says, by an address of the pool, or at a
 * control plane, which has to be made first.
 */
export async function findEndpoint(services: Services, view: ClusterView, signal: AbortSignal): Promise<Found> {
  const [told] = view.machines;
  const found = (url: string | undefined, virtualAddress?: string): Found => ({
    secrets: view.secrets,
    endpoint: { url, virtualAddress },
    noAddress: undefined,
  });
  if (told?.spec.endpoint) return found(told.spec.endpoint, told.spec.virtualAddress);
  if (told) return await ofControlPlane(services, view, signal);
  if (view.fixedEndpoint) return found(`https://${view.fixedEndpoint.at}`);
  if (view.addressing?.endpoint === 'first-node') return found(undefined);
  try {
    const holder = addressHolder.cluster(view.ref);
    const pool = view.spec?.network.addressPool ?? [];
    const address = await services.addresses.claim(holder, pool, reservedAddresses(services), signal);
    return found(`https://${address}:6443`, address);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'ADDRESS_POOL_EMPTY') throw error;
    const message = `ProviderConfig ${view.config?.metadata.name}: ${error.message}`;
    return { secrets: view.secrets, endpoint: undefined, noAddress: message };
  }
}

/**
 * At the first control plane that has an address. It is written down before anybody is told: nodes have it in their
 * configuration, and it stays the same when that machine is replaced.
 */
async function ofControlPlane(services: Services, view: ClusterView, signal: AbortSignal): Promise<Found> {
  const { secrets, machines } = view;
  const at = (url: string | undefined) => ({ endpoint: { url, virtualAddress: undefined }, noAddress: undefined });
  const address = machines
    .filter(isControlPlane)
    .map(addressOf)
    .find((known) => known !== undefined);
  if (!secrets || secrets.endpoint || address === undefined) return { secrets, ...at(secrets?.endpoint) };
  const url = `https://${toAuthority(address, 6443)}`;
  const noted = await noteOnSecrets(services.kube, secrets, { [annotations.endpoint]: url }, signal);
  return { secrets: noted, ...at(url) };
}

const isControlPlane = ({ spec, metadata }: Machine): boolean =>
  spec.role === 'controlplane' && !metadata.deletionTimestamp;

const addressOf = (machine: Machine): string | undefined => factOf(machine, 'address');
