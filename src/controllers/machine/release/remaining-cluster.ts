import { isSameCluster } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations, clusterSecretsName, instanceFinalizers, type ProviderInstance } from '../../../api/names.ts';
import { Cluster } from '../../../api/openmcp/types.ts';
import { done, type StepOutcome } from '../../../engine/step.ts';
import { Secret } from '../../../kube/core-types.ts';
import { clusterIdentityOf, clusterOfMachine } from '../../cluster/identity.ts';
import { assessSecretsOfCluster, machinesOfCluster } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';
import { approvalsOf } from '../repair/approvals.ts';

/** A Cluster in deletion releases all its Machines at the same time. Its nodes and its etcd need no order. */
export const isClusterReleasing = (instance: ProviderInstance, cluster: Cluster | undefined): boolean =>
  cluster?.metadata.deletionTimestamp !== undefined &&
  (cluster.metadata.finalizers ?? []).every((name) => name === instanceFinalizers(instance).cluster);

/** The Cluster of a Machine in deletion, if it remains without this Machine. */
export async function findRemainingCluster(
  services: Services,
  machine: Machine,
  signal: AbortSignal,
): Promise<Cluster | undefined> {
  const ref = clusterOfMachine(machine);
  const cluster = await services.kube.find(Cluster, ref, signal);
  // The Machine does not belong to another Cluster that has the same name now.
  if (!cluster || !isSameCluster(clusterIdentityOf(cluster), ref)) return undefined;
  return isClusterReleasing(services, cluster) ? undefined : cluster;
}

/** The secrets are read from the API server, because their absence in a cache proves nothing. */
export async function readRemainingSecrets(
  services: Services,
  { cluster, machine }: { readonly cluster: Cluster; readonly machine: Machine },
  signal: AbortSignal,
): Promise<ReturnType<typeof assessSecretsOfCluster>> {
  const ref = clusterOfMachine(machine);
  const key = { namespace: services.namespace, name: clusterSecretsName(ref) };
  const object = await services.kube.find(Secret, key, signal);
  return assessSecretsOfCluster(services, {
    object,
    cluster,
    machines: [machine, ...machinesOfCluster(services, ref)],
  });
}

/**
 * Whether it has ever run its installed system: until then the condition `Joined` is Unknown, and the machine has
 * neither a Node nor data of etcd. A machine that has never joined Kubernetes may hold data of etcd: etcd starts
 * earlier, on the first control plane alone, and only on a machine whose status shows that it runs.
 */
export function hasRunInstalledSystem({ status }: Machine): boolean {
  const joined = status?.conditions.find(({ type }) => type === 'Joined')?.status;
  return status?.progress?.facts['joined'] === true || joined === 'True' || joined === 'False';
}

/** Replaces a wait or failure whose reason the user has approved. `group`: reasons that are approved together. */
export function applyApproval(
  services: Services,
  machine: Machine,
  outcome: StepOutcome,
  group: readonly string[] = [],
): StepOutcome {
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  if (reason === undefined) return outcome;
  const accepted = group.includes(reason) ? group : [reason];
  if (!approvalsOf(machine).approved.some((one) => accepted.includes(one))) return outcome;
  services.events.record(machine, 'Warning', 'TakenDownAsAgreed', `${reason}: removed anyway, as approved.`);
  return done();
}

export const approvalHint = (reason: string): string =>
  `To remove it anyway, set the annotation ${annotations.approve}: ${reason} on the Machine.`;
