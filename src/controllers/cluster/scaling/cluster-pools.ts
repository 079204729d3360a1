import { toAuthority } from '../../../lib/net/ip.ts';
import { readMachineFact } from '../../shared/machine-facts.ts';
import type { ClusterView } from '../view.ts';
import { comparePools, type MachineSlot, type PoolBalance } from './machine-slots.ts';

/** The pools of a Cluster, compared with the Machines that it has. */
export const comparePoolsOf = (view: ClusterView): PoolBalance[] =>
  comparePools({ ...view, endpointMachine: findEndpointMachine(view) });

/** The Machines that the spec asks for and that can be created now. */
export const findMissingSlots = (view: ClusterView): MachineSlot[] =>
  comparePoolsOf(view).flatMap(({ missing }) => missing);

/**
 * The control plane whose own address is the endpoint of the cluster. Nodes and users have this address, so the Machine
 * must stay.
 */
export function findEndpointMachine({
  endpoint,
  machines,
}: Pick<ClusterView, 'endpoint' | 'machines'>): string | undefined {
  const { url, virtualAddress } = endpoint ?? {};
  if (url === undefined || virtualAddress !== undefined) return undefined;
  const holder = machines.find((machine) => {
    const address = readMachineFact(machine, 'address');
    return address !== undefined && url === `https://${toAuthority(address, 6443)}`;
  });
  return holder?.spec.role === 'controlplane' ? holder.metadata.name : undefined;
}
