import { mergeConditions, no } from '../../api/conditions.ts';
import { finalizersOf, openmcp, secretsName } from '../../api/names.ts';
import { AccessRequest, Cluster, phases } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import { Secret } from '../../kube/core-types.ts';
import { isUnreachable } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { refOf } from '../cluster/identity.ts';
import { isOurs, judgeFor, machinesOf } from '../cluster/view.ts';
import type { ClusterSecrets } from '../cluster-secrets.ts';
import { dropFinalizer, writeStatus } from '../objects.ts';
import type { SecretsTrouble } from '../secrets-state.ts';
import { isHeld } from '../trust/record.ts';
import { readTrustReport } from '../trust/report.ts';
import { removeAccessSecret } from './access-secret.ts';
import { findTarget, isPossible } from './find-target.ts';
import { openSite } from './looks.ts';
import { isClusterLost } from './lost-cluster.ts';
import { revokeAccess } from './target.ts';
import type { Task } from './task.ts';

const waitSeconds = 30;

/** Takes everything back. A cluster that is proven gone has taken the access with it. */
export async function withdraw(task: Task): Promise<Result> {
  if (!task.request.metadata.finalizers?.includes(finalizersOf(task.services).accessRequest)) return {};
  return await undo(task, {
    stuck: async (obstacle) => await reportObstacle(task, obstacle),
    done: 'access withdrawn',
  });
}

/** The same for a request that is somebody else's by now: nothing is said on it, and a Secret of theirs stays. */
export async function letGo(task: Task): Promise<Result> {
  if (task.request.metadata.annotations?.[openmcp.operation] === 'ignore') return {};
  const stuck = (obstacle: string): void =>
    task.log.info({ obstacle }, 'access of a request that is not ours any more cannot be withdrawn yet');
  const done = 'access withdrawn: the request is not ours any more';
  return await undo(task, { secretOf: task.services.provider, stuck, done });
}

interface Undoing {
  /** Only a Secret that names this provider is removed. Default: every Secret of ours. */
  readonly secretOf?: string;
  readonly stuck: (obstacle: string) => void | Promise<void>;
  /** For the log. */
  readonly done: string;
}

async function undo(task: Task, { secretOf, stuck, done }: Undoing): Promise<Result> {
  const { services, request, signal, log } = task;
  if (!leavesSecret(task)) await removeAccessSecret(services.kube, request, signal, secretOf);
  const obstacle = await takeBack(task);
  if (obstacle !== undefined) {
    await stuck(obstacle);
    return { againInSeconds: waitSeconds };
  }
  await dropFinalizer(services.kube, AccessRequest, request, finalizersOf(services).accessRequest, signal);
  log.info({}, done);
  return {};
}

/**
 * Whether garbage collection is to remove the Secret: others still hold the request that we let go, and may read what it
 * names. What is in it leads nowhere by then. One that was denied or handed to another provider loses it at once.
 */
function leavesSecret({ services, request: { metadata, status } }: Task): boolean {
  const isHeldByOthers = (metadata.finalizers ?? []).length > 1;
  const isOurs = metadata.labels?.[openmcp.provider] === services.provider && status?.phase !== phases.denied;
  return metadata.deletionTimestamp !== undefined && isHeldByOthers && isOurs;
}

/** Takes back what lies in the cluster, or says what is in the way. */
async function takeBack(task: Task): Promise<string | undefined> {
  const secrets = await findSecrets(task);
  const obstacle =
    secrets &&
    ('reason' in secrets ? awaiting(secrets.message) : ((await revoke(task)) ?? whyStillTrusted(task, secrets)));
  const { services, request, signal, log } = task;
  const ref = request.spec.clusterRef;
  if (obstacle === undefined || !ref || !(await isClusterLost(services, ref, signal))) return obstacle;
  log.info({}, 'the control planes are gone with their disks, and what was granted with them');
  return undefined;
}

/** Takes it back in the cluster, or says what is in the way. */
async function revoke({ services, request, identity, signal }: Task): Promise<string | undefined> {
  const target = findTarget(services, request);
  if ('waiting' in target) return awaiting(target.waiting.message ?? '');
  try {
    const site = await openSite(services, target.ref, target.server);
    await revokeAccess(site, identity, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!isUnreachable(error) && !(error instanceof ProviderError)) throw error;
    return awaiting(`The cluster does not answer: ${(error as Error).message}`);
  }
}

const awaiting = (why: string): string =>
  `The access is withdrawn as soon as the cluster answers, or when it is gone. ${why}`;

/**
 * What the access has to be withdrawn with, asked of the API server and not of the cache. Undefined when there can be nothing left
 * to withdraw: the Cluster does not exist or was never made, etcd was never bootstrapped, or another instance serves the Cluster. Lost
 * secrets prove nothing of that kind; only a Cluster that is deleted itself takes the access with it.
 */
async function findSecrets({ services, request, signal }: Task): Promise<ClusterSecrets | SecretsTrouble | undefined> {
  const ref = request.spec.clusterRef;
  if (!ref || !isPossible(ref)) return undefined;
  const cluster = await services.kube.find(Cluster, ref, signal);
  if (!cluster || !hasServed(services, cluster)) return undefined;
  const object = await services.kube.find(Secret, { namespace: services.namespace, name: secretsName(ref) }, signal);
  const state = judgeFor(services, { object, cluster, machines: machinesOf(services, refOf(cluster)) });
  if (state.kind === 'usable') return state.secrets.bootstrappedAt === undefined ? undefined : state.secrets;
  return state.kind === 'none' || cluster.metadata.deletionTimestamp ? undefined : state.trouble;
}

/** Another instance's Cluster may have its secrets in the same namespace. One that this instance served carries its finalizer. */
const hasServed = (services: Task['services'], cluster: Cluster): boolean =>
  isOurs(services, cluster) || (cluster.metadata.finalizers?.includes(finalizersOf(services).cluster) ?? false);

/** The rights are gone by now; who logs in as before can do nothing with it. The trust goes after them. */
function whyStillTrusted({ services, request }: Task, secrets: ClusterSecrets): string | undefined {
  if (!isHeld(secrets.trust, request.metadata.uid)) return undefined;
  const { clusterRef } = request.spec;
  const report = readTrustReport(clusterRef && services.stores.clusters.get(clusterRef));
  const said = 'The rights are withdrawn. Control planes are being told not to trust the issuer any more.';
  return report?.message ? `${said} ${report.message}` : said;
}

async function reportObstacle(task: Task, obstacle: string): Promise<void> {
  const { services, request, signal } = task;
  const secretRef = leavesSecret(task) ? request.status?.secretRef : undefined;
  const generation = request.metadata.generation ?? 0;
  const state = no('AccessReady', 'WaitingForDeletion', obstacle);
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: phases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
    ...(secretRef ? { secretRef } : {}),
  };
  await writeStatus(services.kube, AccessRequest, request, status, signal, { locked: true });
}
