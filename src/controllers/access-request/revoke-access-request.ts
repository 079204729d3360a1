import { conditionFalse, mergeConditions } from '../../api/conditions.ts';
import { clusterSecretsName, instanceFinalizers, openmcpKeys } from '../../api/names.ts';
import { AccessRequest, Cluster, openmcpPhases } from '../../api/openmcp/types.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import { isUnreachable } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { clusterIdentityOf } from '../cluster/ownership.ts';
import { assessSecretsOfCluster, isOwnCluster, machinesOfCluster } from '../cluster/view.ts';
import { mayBeTrustedFor } from '../rollout/oidc-trust/trust-record.ts';
import { readTrustReport } from '../rollout/oidc-trust/trust-report.ts';
import { patchStatusIfExists, removeFinalizer } from '../shared/objects.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { ClusterSecretsProblem } from '../shared/secrets/cluster-secrets-state.ts';
import type { AccessRequestContext } from './access-request-context.ts';
import { deleteAccessSecret } from './access-secret.ts';
import { findTargetCluster, isPossibleClusterRef } from './find-target-cluster.ts';
import { isClusterLost } from './lost-cluster.ts';
import { openTargetConnection } from './target-cluster/access-object-cache.ts';
import { revokeAccess } from './target-cluster/ensure-access.ts';

const waitSeconds = 30;

/** Revokes all access of a request. A cluster that is proven to be lost needs no revocation. */
export async function revokeAccessRequest(task: AccessRequestContext): Promise<ReconcileResult> {
  if (!task.request.metadata.finalizers?.includes(instanceFinalizers(task.services).accessRequest)) return {};
  return await revokeAndDropFinalizer(task, {
    onStuck: async (problem) => await reportObstacle(task, problem),
    done: 'access withdrawn',
  });
}

/**
 * The same for a request that another provider owns now: its status is not written, and the other provider's Secret
 * stays.
 */
export async function revokeForeignAccessRequest(task: AccessRequestContext): Promise<ReconcileResult> {
  if (task.request.metadata.annotations?.[openmcpKeys.operation] === 'ignore') return {};
  const stuck = (problem: string): void =>
    task.log.info({ obstacle: problem }, 'access of a request that is not ours any more cannot be withdrawn yet');
  const done = 'access withdrawn: the request is not ours any more';
  return await revokeAndDropFinalizer(task, { secretOf: task.services.provider, onStuck: stuck, done });
}

interface RevocationOptions {
  /** Only a Secret that names this provider is deleted. Default: every Secret of the request. */
  readonly secretOf?: string;
  readonly onStuck: (problem: string) => void | Promise<void>;
  /** The log message. */
  readonly done: string;
}

async function revokeAndDropFinalizer(
  task: AccessRequestContext,
  { secretOf, onStuck, done }: RevocationOptions,
): Promise<ReconcileResult> {
  const { services, request, signal, log } = task;
  if (!leavesSecretToGarbageCollection(task)) await deleteAccessSecret(services.kube, request, signal, secretOf);
  const problem = await findRevocationObstacle(task);
  if (problem !== undefined) {
    await onStuck(problem);
    return { requeueAfterSeconds: waitSeconds };
  }
  await removeFinalizer(services.kube, AccessRequest, request, instanceFinalizers(services).accessRequest, signal);
  log.info({}, done);
  return {};
}

/**
 * Whether to leave the Secret to Kubernetes garbage collection: other finalizers are still on the request, and their
 * owners may read the Secret that it names. Its content is invalid by then. The Secret of a request that was denied or
 * assigned to another provider is deleted at once.
 */
function leavesSecretToGarbageCollection({ services, request: { metadata, status } }: AccessRequestContext): boolean {
  const isHeldByOthers = (metadata.finalizers ?? []).length > 1;
  const isOurs =
    metadata.labels?.[openmcpKeys.provider] === services.provider && status?.phase !== openmcpPhases.denied;
  return metadata.deletionTimestamp !== undefined && isHeldByOthers && isOurs;
}

/** Revokes the access in the cluster, or returns the obstacle. */
async function findRevocationObstacle(task: AccessRequestContext): Promise<string | undefined> {
  const secrets = await findSecretsForRevocation(task);
  const problem =
    secrets &&
    ('reason' in secrets
      ? describeAwaitingCluster(secrets.message)
      : ((await revokeInTargetCluster(task)) ?? describeRemainingTrust(task, secrets)));
  const { services, request, signal, log } = task;
  const ref = request.spec.clusterRef;
  if (problem === undefined || !ref || !(await isClusterLost(services, ref, signal))) return problem;
  log.info({}, 'the control planes are gone with their disks, and what was granted with them');
  return undefined;
}

/** Revokes the access in the target cluster, or returns the obstacle. */
async function revokeInTargetCluster({
  services,
  request,
  identity,
  signal,
}: AccessRequestContext): Promise<string | undefined> {
  const target = findTargetCluster(services, request);
  if ('waiting' in target) return describeAwaitingCluster(target.waiting.message ?? '');
  try {
    const connection = await openTargetConnection(services, target.ref, target.server);
    await revokeAccess(connection, identity, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!isUnreachable(error) && !(error instanceof ProviderError)) throw error;
    return describeAwaitingCluster(`The cluster does not answer: ${(error as Error).message}`);
  }
}

const describeAwaitingCluster = (why: string): string =>
  `The access is withdrawn as soon as the cluster answers, or when it is gone. ${why}`;

/**
 * Reads the secrets for the revocation from the API server and not from the cache. Undefined if there is nothing to
 * revoke: the Cluster does not exist or was never created, etcd was never bootstrapped, or another instance owns the
 * Cluster. Lost secrets are no such proof; only the deletion of the Cluster itself ends the access.
 */
async function findSecretsForRevocation({
  services,
  request,
  signal,
}: AccessRequestContext): Promise<ClusterSecrets | ClusterSecretsProblem | undefined> {
  const ref = request.spec.clusterRef;
  if (!ref || !isPossibleClusterRef(ref)) return undefined;
  const cluster = await services.kube.find(Cluster, ref, signal);
  if (!cluster || !hasManagedCluster(services, cluster)) return undefined;
  const object = await services.kube.find(
    Secret,
    { namespace: services.namespace, name: clusterSecretsName(ref) },
    signal,
  );
  const state = assessSecretsOfCluster(services, {
    object,
    cluster,
    machines: machinesOfCluster(services, clusterIdentityOf(cluster)),
  });
  if (state.kind === 'usable') return state.secrets.bootstrappedAt === undefined ? undefined : state.secrets;
  return state.kind === 'none' || cluster.metadata.deletionTimestamp ? undefined : state.problem;
}

/**
 * The secrets of another instance's Cluster may be in the same namespace. A Cluster of this instance has its finalizer.
 */
const hasManagedCluster = (services: AccessRequestContext['services'], cluster: Cluster): boolean =>
  isOwnCluster(services, cluster) ||
  (cluster.metadata.finalizers?.includes(instanceFinalizers(services).cluster) ?? false);

/** The roles are deleted by now, so a login grants no rights. The trust is removed after them. */
function describeRemainingTrust(
  { services, request }: AccessRequestContext,
  secrets: ClusterSecrets,
): string | undefined {
  if (!mayBeTrustedFor(secrets.trust, request.metadata.uid)) return undefined;
  const { clusterRef } = request.spec;
  const report = readTrustReport(clusterRef && services.stores.clusters.get(clusterRef));
  const said = 'The rights are withdrawn. Control planes are being told not to trust the issuer any more.';
  return report?.message ? `${said} ${report.message}` : said;
}

async function reportObstacle(task: AccessRequestContext, problem: string): Promise<void> {
  const { services, request, signal } = task;
  const secretRef = leavesSecretToGarbageCollection(task) ? request.status?.secretRef : undefined;
  const generation = request.metadata.generation ?? 0;
  const state = conditionFalse('AccessReady', 'WaitingForDeletion', problem);
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: openmcpPhases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
    ...(secretRef ? { secretRef } : {}),
  };
  await patchStatusIfExists(services.kube, AccessRequest, request, status, signal, { locked: true });
}
