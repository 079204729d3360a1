import type { Machine } from '../../../api/machine.ts';
import { findMissingSlots } from '../../cluster/scaling/cluster-pools.ts';
import type { ClusterView } from '../../cluster/view.ts';
import { isReady, isUpdating } from '../../rollout/machine-change.ts';

/** Why nothing of a cluster may be taken for an orphan now; undefined if it may. */
export function findCollectionObstacle({ cluster, secrets, spec, proof }: ClusterView): string | undefined {
  if (cluster.metadata.deletionTimestamp) return 'The Cluster is being deleted.';
  if (!secrets?.bootstrappedAt) return 'The cluster is not bootstrapped.';
  // The Machines that the cluster is to have are not known.
  if (!spec) return 'The spec of the cluster is not known.';
  return proof?.ok ? undefined : 'The API server does not answer.';
}

/**
 * Why a member of etcd may not be taken for an orphan: a control plane may be about to join. One in deletion is asked
 * itself: as long as it answers, its member is known.
 */
export function findMembershipObstacle(view: ClusterView): string | undefined {
  const obstacle = findCollectionObstacle(view);
  if (obstacle !== undefined) return obstacle;
  if (view.trustRollout?.message !== undefined) return 'The OIDC issuers of the control planes are being changed.';
  const missing = findMissingSlots(view).find(({ role }) => role === 'controlplane');
  if (missing) return `${missing.name} does not exist yet.`;
  return selectControlPlanes(view.machines)
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .map(describeUnsettled)
    .find((text) => text !== undefined);
}

export const selectControlPlanes = (machines: readonly Machine[]): Machine[] =>
  machines.filter(({ spec }) => spec.role === 'controlplane');

function describeUnsettled(machine: Machine): string | undefined {
  const { name } = machine.metadata;
  const { plan, finishedAt } = machine.status?.progress ?? {};
  if (plan === 'provision' && finishedAt === undefined) return `${name} is being provisioned.`;
  if (plan === 'repair') return `${name} is being repaired.`;
  if (isUpdating(machine)) return `${name} is being updated.`;
  return isReady(machine) ? undefined : `${name} is not ready.`;
}
