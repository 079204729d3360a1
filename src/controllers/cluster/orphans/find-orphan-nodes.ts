import type { Machine } from '../../../api/machine.ts';
import { controlPlanePool, isMachineName, nodePoolName } from '../../../api/names.ts';
import type { NamespacedRef } from '../../../api/openmcp/types.ts';

interface NodesView {
  readonly ref: NamespacedRef;
  /** Replaces the name of the Cluster in the names of its Machines. */
  readonly nodePrefix: string | undefined;
  readonly machines: readonly Machine[];
}

/**
 * The Nodes that a Machine of the cluster has left: they have the name of one, and there is none of that name. Nodes of
 * others, which a user has added to the cluster, have other names.
 */
export function findOrphanNodes(nodes: readonly string[], { ref, nodePrefix, machines }: NodesView): string[] {
  const known = new Set(machines.map(({ metadata }) => metadata.name));
  return nodes.filter((name) => !known.has(name) && isMachineName(ref, name, nodePrefix));
}

/** Whether the name is that of a control plane, so that the node may have been a member of etcd. */
export const isControlPlaneName = ({ ref, nodePrefix }: Omit<NodesView, 'machines'>, name: string): boolean =>
  name.startsWith(`${nodePoolName(ref, controlPlanePool, nodePrefix)}-`);
