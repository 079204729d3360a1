import { mergeConditions, no } from '../../api/conditions.ts';
import { annotations, finalizers, openmcp, secretsName } from '../../api/names.ts';
import { AccessRequest, Cluster, phases } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import { type Secret as KubeSecret, Secret } from '../../kube/core-types.ts';
import { isUnreachable } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import { dropFinalizer, writeStatus } from '../objects.ts';
import { isHeld, readTrust } from '../trust/record.ts';
import { readTrustReport } from '../trust/report.ts';
import { removeAccessSecret } from './access-secret.ts';
import { findTarget, isPossible } from './find-target.ts';
import { openSite } from './looks.ts';
import { revokeAccess } from './target.ts';
import type { Task } from './task.ts';

const waitSeconds = 30;

/** Takes everything back. A cluster that is proven gone has taken the access with it. */
export async function withdraw(task: Task): Promise<Result> {
  if (!task.request.metadata.finalizers?.includes(finalizers.accessRequest)) return {};
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
  await removeAccessSecret(services.kube, request, signal, secretOf);
  const obstacle = await takeBack(task);
  if (obstacle !== undefined) {
    await stuck(obstacle);
    return { againInSeconds: waitSeconds };
  }
  await dropFinalizer(services.kube, AccessRequest, request, finalizers.accessRequest, signal);
  log.info({}, done);
  return {};
}

/** Takes back what lies in the cluster, or says what is in the way. */
async function takeBack(task: Task): Promise<string | undefined> {
  const secrets = await findSecrets(task);
  return secrets && ((await revoke(task)) ?? whyStillTrusted(task, secrets));
}

/** Takes it back in the cluster, or says what is in the way. */
async function revoke({ services, request, identity, signal }: Task): Promise<string | undefined> {
  const target = findTarget(services, request);
  if ('waiting' in target) return awaiting(target.waiting.message ?? '');
  try {
    const site = await openSite(services, target.ref, target.server);
    await revokeAccess(site, identity.id, signal);
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
 * The secrets of the cluster, asked of the API server and not of the cache. Undefined when there can be nothing left to
 * withdraw: the Cluster or its secrets do not exist, or etcd was never bootstrapped.
 */
async function findSecrets({ services, request, signal }: Task): Promise<KubeSecret | undefined> {
  const ref = request.spec.clusterRef;
  if (!ref || !isPossible(ref)) return undefined;
  if (!(await services.kube.find(Cluster, ref, signal))) return undefined;
  const secrets = await services.kube.find(Secret, { namespace: services.namespace, name: secretsName(ref) }, signal);
  return secrets?.metadata.annotations?.[annotations.bootstrappedAt] === undefined ? undefined : secrets;
}

/** The rights are gone by now; who logs in as before can do nothing with it. The trust goes after them. */
function whyStillTrusted({ services, request }: Task, secrets: KubeSecret): string | undefined {
  if (!isHeld(readTrust(secrets), request.metadata.uid)) return undefined;
  const { clusterRef } = request.spec;
  const report = readTrustReport(clusterRef && services.stores.clusters.get(clusterRef));
  const said = 'The rights are withdrawn. Control planes are being told not to trust the issuer any more.';
  return report?.message ? `${said} ${report.message}` : said;
}

async function reportObstacle({ services, request, signal }: Task, obstacle: string): Promise<void> {
  const generation = request.metadata.generation ?? 0;
  const state = no('AccessReady', 'WaitingForDeletion', obstacle);
  const status: NonNullable<AccessRequest['status']> = {
    observedGeneration: generation,
    phase: phases.pending,
    conditions: mergeConditions(request.status?.conditions ?? [], [state, { ...state, type: 'Ready' }], {
      generation,
      now: services.clock.now(),
    }),
  };
  await writeStatus(services.kube, AccessRequest, request, status, signal, { locked: true });
}
