import type { Machine } from '../../../api/machine.ts';
import type { AddressMove } from '../../../talos/update/update-context.ts';
import { clusterOfMachine } from '../../cluster/identity.ts';
import { machinesOfCluster } from '../../cluster/view.ts';
import type { Services } from '../services.ts';
import { type ControlPlane, controlPlaneOf } from './control-plane.ts';
import { applyNodeConfig, queryNode } from './query-node.ts';
import { hasAddress, readPersistentConfig } from './virtual-address.ts';

/**
 * One pass to move the virtual address away from a control plane whose API server is going to restart. Its holder tries a
 * configuration without the address, which Talos always reverts after a minute, or with the change that follows.
 */
async function releaseVirtualAddress(holder: ControlPlane, others: readonly ControlPlane[]): Promise<AddressMove> {
  const { virtualAddress } = holder.machine.spec;
  if (virtualAddress === undefined || others.length === 0) return { kind: 'moved' };
  const { name } = holder.machine.metadata;
  const released = await queryNode(holder, async (node) => {
    const { sharedAddress } = await readPersistentConfig(node, holder);
    return sharedAddress.kind === 'held' ? sharedAddress : undefined;
  });
  // A node that does not answer holds nothing that clients could reach.
  if (released?.kind === 'silent') return { kind: 'moved' };
  if (released?.kind === 'held') {
    const rejection = await applyNodeConfig(holder, released.without, 'try');
    return {
      kind: 'waiting',
      message: rejection?.message ?? `${name} releases the virtual address ${virtualAddress}.`,
    };
  }
  const holds = await Promise.all(
    others.map((other) => queryNode(other, (node) => hasAddress(node, virtualAddress, other))),
  );
  if (holds.some((one) => one === true)) return { kind: 'moved' };
  return { kind: 'waiting', message: `No other control plane holds the virtual address ${virtualAddress} yet.` };
}

/** One pass to move the virtual address of the cluster away from this control plane. */
export async function moveVirtualAddressFrom(
  services: Services,
  machine: Machine,
  signal: AbortSignal,
): Promise<AddressMove> {
  const cluster = clusterOfMachine(machine);
  const others = machinesOfCluster(services, cluster)
    .filter(({ spec, metadata }) => spec.role === 'controlplane' && metadata.name !== machine.metadata.name)
    .map((other) => controlPlaneOf(services, cluster, other, signal))
    .filter(({ address }) => address !== '');
  const holder = controlPlaneOf(services, cluster, machine, signal);
  return holder.address === '' ? { kind: 'moved' } : await releaseVirtualAddress(holder, others);
}
