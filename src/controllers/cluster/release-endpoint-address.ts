import { controlPlanePool } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { addressHolder } from '../shared/addresses/address-leases.ts';
import type { Services } from '../shared/services.ts';
import { clusterIdentityOf } from './ownership.ts';

/** By its name, which is all that is left of it. */
const isControlPlaneName = (machine: string): boolean => machine.split('-').at(-2) === controlPlanePool;

/**
 * Gives back the address that control planes hand around, once no Machine is left. A control plane that was let go without proof that
 * it does not run has kept its own address, and may hold this one as well: then the claim on it stays, and an Event says so.
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
  const message = `The address ${address} stays claimed (Lease in namespace ${namespace}): nothing proves that ${left.join(', ')}, which may hold it, does not run any more. Once you have made sure, delete the Leases of these addresses.`;
  events.record(cluster, 'Warning', 'AddressKept', message);
}
