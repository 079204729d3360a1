import { controlPlanePool } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import type { Services } from '../shared/services.ts';
import { clusterIdentityOf } from './identity.ts';

/** Only the name is left of a deleted Machine. */
const isControlPlaneName = (machine: string): boolean => machine.split('-').at(-2) === controlPlanePool;

/**
 * Releases the virtual address of the control planes once no Machine is left. A control plane that was released without
 * proof that it is off retains its own address and may still hold the virtual one. Then the claim is retained, and an
 * Event reports it.
 */
export async function releaseEndpointAddress(
  { addresses, events, namespace }: Pick<Services, 'addresses' | 'events' | 'namespace'>,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<void> {
  const ref = clusterIdentityOf(cluster);
  const holder = addressHolder.cluster(ref);
  const address = await addresses.find(holder, signal);
  if (address === undefined) return;
  const left = (await addresses.machinesOf(ref, signal)).filter(isControlPlaneName);
  if (left.length === 0) return await addresses.release(holder, signal);
  const message = `The address ${address} stays claimed (Lease in namespace ${namespace}): there is no proof that ${left.join(', ')}, which may hold it, has stopped. Once you have verified that, delete the Leases of these addresses.`;
  events.record(cluster, 'Warning', 'AddressKept', message);
}
