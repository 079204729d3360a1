import { conditionFalse } from '../../api/conditions.ts';
import { isExternalMachine } from '../../api/machine.ts';
import { annotations, clusterSecretsName } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { findServedCluster } from '../cluster/cluster-responsibility.ts';
import { assessSecretsOfCluster, clusterIdentityOf, machinesOfCluster } from '../cluster/view.ts';
import { requireClusterSecrets } from '../shared/secrets/cluster-secrets-state.ts';
import { isBeingRestored, readRestoreRecord, unreadableRestore } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';
import { continueRestore } from './continue-restore.ts';
import { describeRestoreRejection } from './describe-restore.ts';
import { prepareRestore } from './prepare-restore.ts';
import { reportCompleted, reportRestore } from './report-restore.ts';
import { readRestoreRequest } from './restore-request.ts';
import type { VerificationMemory } from './verification-memory.ts';

const refusedSeconds = 60;

/** Restores etcd of one Cluster from a backup, if a user asks for it. Other Clusters cause no calls. */
export async function reconcileRestore(
  services: Services,
  memory: VerificationMemory,
  key: ObjectKey,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const cluster = findServedCluster(services, key);
  if (!cluster || cluster.metadata.deletionTimestamp) return {};
  const ref = clusterIdentityOf(cluster);
  const isAsked = cluster.metadata.annotations?.[annotations.restore] !== undefined;
  if (!isAsked && !isBeingRestored(services, ref)) return await reportNoRequest(services, cluster, context);
  return await restoreCluster(services, memory, cluster, context);
}

/** The record is read from the API server: a step must not be repeated because a cache is behind. */
async function restoreCluster(
  services: Services,
  memory: VerificationMemory,
  cluster: Cluster,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const ref = clusterIdentityOf(cluster);
  const object = await services.kube.find(
    Secret,
    { namespace: services.namespace, name: clusterSecretsName(ref) },
    context.signal,
  );
  const refuse = async (problem: ProviderError): Promise<ReconcileResult> => {
    await reportRestore(services, cluster, describeRestoreRejection(problem), context.signal);
    return { requeueAfterSeconds: refusedSeconds };
  };
  const last = readRestoreRecord(object);
  if (last === unreadableRestore) {
    const message = `The annotation ${annotations.restoreProgress} of Secret ${clusterSecretsName(ref)} cannot be read. Remove it to begin again.`;
    await reportRestore(services, cluster, conditionFalse('EtcdRestored', 'RestoreFailed', message), context.signal);
    return { requeueAfterSeconds: refusedSeconds };
  }
  const record = last?.completedAt === undefined ? last : undefined;
  const request = readRestoreRequest(cluster);
  const machines = machinesOfCluster(services, ref);
  if (request && machines.some(isExternalMachine)) return await refuse(new ProviderError('NODES_OF_OTHERS'));
  if (record && object && (!request || request instanceof ProviderError || request.key === record.key))
    return await continueRestore(services, { cluster, secret: object, record }, context);
  if (request instanceof ProviderError) return await refuse(request);
  if (!request) return await reportNoRequest(services, cluster, context);
  const state = assessSecretsOfCluster(services, { object, cluster, machines });
  try {
    const secrets = requireClusterSecrets(state, `of Cluster ${ref.namespace}/${ref.name}`);
    return await prepareRestore(services, memory, { cluster, secrets, request, former: record }, context);
  } catch (error) {
    if (error instanceof ProviderError && error.retry !== 'bug') return await refuse(error);
    throw error;
  }
}

/** The report of the last restore, or of none: a request may have been taken back. */
async function reportNoRequest(
  services: Services,
  cluster: Cluster,
  { signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const { stores, namespace } = services;
  const name = clusterSecretsName(clusterIdentityOf(cluster));
  const last = readRestoreRecord(stores.secrets.get({ namespace, name }));
  if (last !== undefined && last !== unreadableRestore) await reportCompleted(services, cluster, last, signal);
  else await reportRestore(services, cluster, undefined, signal);
  return {};
}
