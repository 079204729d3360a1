import { isSameCluster } from '../../api/cluster-identity.ts';
import { mergeConditions, summarizeReady } from '../../api/conditions.ts';
import { Machine } from '../../api/machine.ts';
import { clusterId, clusterSecretsName, labels } from '../../api/names.ts';
import { Cluster, openmcpPhases } from '../../api/openmcp/types.ts';
import { Secret } from '../../kube/core-types.ts';
import { ProviderError } from '../../lib/errors.ts';
import { patchStatus } from '../shared/objects.ts';
import {
  clusterRecordKey,
  missingRecordAnnotations,
  toClusterRecord,
  withClusterRecord,
} from '../shared/secrets/cluster-record.ts';
import { annotateClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { describeClusterConditions } from './decide.ts';
import { clusterOfMachine } from './identity.ts';
import { assessSecretsOfCluster, type ClusterView, toSecretsView } from './view.ts';

/**
 * Reads from the API server everything that proves that the secrets of a cluster were created before: the Secret, the
 * Cluster and its Machines. A stale or partly filled cache must not cause a second CA.
 */
export async function refetchSecrets(services: Services, view: ClusterView, signal: AbortSignal): Promise<ClusterView> {
  const { kube, namespace } = services;
  const object = await kube.find(Secret, { namespace, name: clusterSecretsName(view.ref) }, signal);
  const cluster = await kube.find(Cluster, view.ref, signal);
  if (cluster?.metadata.uid !== view.cluster.metadata.uid || !cluster) throw new ProviderError('CLUSTER_CHANGED');
  const { items } = await kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(view.ref)}` }, signal);
  // The Machines in the cache count as well: their absence in one list proves nothing.
  const own = items.filter((machine) => isSameCluster(clusterOfMachine(machine), view.ref));
  const listed = new Set(own.map(({ metadata }) => metadata.name));
  const machines = [...own, ...view.machines.filter(({ metadata }) => !listed.has(metadata.name))];
  const state = assessSecretsOfCluster(services, { object, cluster, machines });
  return { ...view, cluster, searched: true, ...toSecretsView(state) };
}

/** Completes the cluster record where a field is missing: first in the Secret, then in the status of the Cluster. */
export async function writeClusterRecord(
  services: Services,
  view: ClusterView,
  signal: AbortSignal,
): Promise<ClusterView> {
  if (!view.secrets) throw new ProviderError('INTERNAL', 'The secrets of the cluster are unknown.');
  const record = toClusterRecord(view.secrets);
  const missing = missingRecordAnnotations(view.secrets);
  const noted =
    Object.keys(missing).length > 0
      ? await annotateClusterSecrets(services.kube, view.secrets, missing, signal)
      : view.secrets;
  const secrets = withClusterRecord(noted, record);
  const { cluster } = view;
  const status = { ...(cluster.status ?? initialStatus(services, view)) };
  const providerStatus = { ...status.providerStatus, [clusterRecordKey]: record };
  const written = await patchStatus(services.kube, Cluster, cluster, { ...status, providerStatus }, signal);
  return { ...view, secrets, cluster: written ?? cluster, recorded: JSON.stringify(record) };
}

/** The status of a Cluster that has none. */
function initialStatus({ clock }: Services, view: ClusterView): NonNullable<Cluster['status']> {
  const generation = view.cluster.metadata.generation ?? 0;
  const states = describeClusterConditions(view);
  const conditions = mergeConditions([], [...states, summarizeReady(states)], { generation, now: clock.now() });
  return { observedGeneration: generation, phase: openmcpPhases.progressing, conditions };
}
