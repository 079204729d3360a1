import { isSameCluster } from '../../api/cluster-identity.ts';
import { mergeConditions, summarize } from '../../api/conditions.ts';
import { Machine } from '../../api/machine.ts';
import { clusterId, labels, secretsName } from '../../api/names.ts';
import { Cluster, phases } from '../../api/openmcp.ts';
import { Secret } from '../../kube/core-types.ts';
import { ProviderError } from '../../lib/errors.ts';
import { missingAnnotations, recordKey, recordOf, withRecord } from '../cluster-record.ts';
import { noteOnSecrets } from '../cluster-secrets.ts';
import { saveStatus } from '../objects.ts';
import type { Services } from '../services.ts';
import { describeStates } from './decide.ts';
import { clusterOf } from './identity.ts';
import { type ClusterView, foundSecrets, judgeFor } from './view.ts';

/**
 * Asks the API server itself for everything that tells whether the secrets of a cluster were made before: the Secret, the Cluster
 * and its Machines. A cache that is behind, or was filled by half a list, must not bring a second CA about.
 */
export async function seekSecrets(services: Services, view: ClusterView, signal: AbortSignal): Promise<ClusterView> {
  const { kube, namespace } = services;
  const object = await kube.find(Secret, { namespace, name: secretsName(view.ref) }, signal);
  const cluster = await kube.find(Cluster, view.ref, signal);
  if (cluster?.metadata.uid !== view.cluster.metadata.uid || !cluster) throw new ProviderError('CLUSTER_CHANGED');
  const { items } = await kube.list(Machine, { labelSelector: `${labels.cluster}=${clusterId(view.ref)}` }, signal);
  // Those that the caches know of count as well: nothing is proven by their absence in one list.
  const own = items.filter((machine) => isSameCluster(clusterOf(machine), view.ref));
  const listed = new Set(own.map(({ metadata }) => metadata.name));
  const machines = [...own, ...view.machines.filter(({ metadata }) => !listed.has(metadata.name))];
  const state = judgeFor(services, { object, cluster, machines });
  return { ...view, cluster, sought: true, ...foundSecrets(state) };
}

/** Writes what is known of a cluster to where it is missing: first to its Secret, then to the status of the Cluster. */
export async function writeRecord(services: Services, view: ClusterView, signal: AbortSignal): Promise<ClusterView> {
  if (!view.secrets) throw new ProviderError('INTERNAL', 'A record is of secrets that exist.');
  const record = recordOf(view.secrets);
  const missing = missingAnnotations(view.secrets);
  const noted =
    Object.keys(missing).length > 0 ? await noteOnSecrets(services.kube, view.secrets, missing, signal) : view.secrets;
  const secrets = withRecord(noted, record);
  const { cluster } = view;
  const status = { ...(cluster.status ?? firstStatus(services, view)) };
  const providerStatus = { ...status.providerStatus, [recordKey]: record };
  const written = await saveStatus(services.kube, Cluster, cluster, { ...status, providerStatus }, signal);
  return { ...view, secrets, cluster: written ?? cluster, recorded: JSON.stringify(record) };
}

/** Of a Cluster that nothing was said of yet. */
function firstStatus({ clock }: Services, view: ClusterView): NonNullable<Cluster['status']> {
  const generation = view.cluster.metadata.generation ?? 0;
  const states = describeStates(view);
  const conditions = mergeConditions([], [...states, summarize(states)], { generation, now: clock.now() });
  return { observedGeneration: generation, phase: phases.progressing, conditions };
}
