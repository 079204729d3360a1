import type { Machine } from '../../../api/machine.ts';
import { clusterPrefix, labels, machineName } from '../../../api/names.ts';
import type { Node } from '../../../kube/drain/kinds.ts';
import { findMissingSlots } from '../../cluster/scaling/cluster-pools.ts';
import type { ClusterView } from '../../cluster/view.ts';
import { hasProviderId } from './machine-addresses.ts';

type Naming = Pick<ClusterView, 'ref' | 'secrets'>;

/**
 * Of the Nodes that are not ready, the names of those without a Machine. `isMachine`: whether a Machine of that name
 * exists. A Machine that is about to be created takes over the Node of its name.
 */
export function listOrphanCandidates(
  view: ClusterView,
  unready: readonly string[],
  isMachine: (name: string) => boolean,
): string[] {
  const prefix = `${clusterPrefix(view.ref, view.secrets?.nodePrefix)}-`;
  const named = unready.filter((name) => name.startsWith(prefix) && /-\d+$/.test(name) && !isMachine(name));
  if (named.length === 0) return [];
  const missing = new Set(findMissingSlots(view).map(({ name }) => name));
  return named.filter((name) => !missing.has(name));
}

/**
 * Why a Node is not removed; undefined if it is an orphan. It is ours by three marks together: the label that the
 * configuration of every node sets, a name that only a Machine of this cluster has, and the id of a provider.
 */
export function findNodeObjection(
  node: Node,
  { ref, secrets }: Naming,
  machines: readonly Machine[],
): string | undefined {
  const { name, labels: present = {}, deletionTimestamp } = node.metadata;
  if (deletionTimestamp) return 'It is being deleted.';
  if (isNodeReady(node)) return 'It is Ready.';
  const pool = present[labels.pool];
  const slot = /-(\d+)$/.exec(name)?.[1];
  if (pool === undefined || slot === undefined) return 'It has no mark of this provider.';
  if (machineName(ref, pool, Number(slot), secrets?.nodePrefix) !== name) return 'Its name is not that of a Machine.';
  const providerId = node.spec?.providerID ?? '';
  if (!/^[a-z][a-z0-9-]*:\/\/./.test(providerId)) return 'It has no provider id.';
  const owner = machines.find((machine) => machine.metadata.name === name || hasProviderId(machine, providerId));
  return owner && `Machine ${owner.metadata.name} exists.`;
}

const isNodeReady = ({ status }: Node): boolean =>
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
