import { isDeepStrictEqual } from 'node:util';
import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { formatTime } from '../../lib/text.ts';
import { clusterIdentityOf, machinesOfCluster } from '../cluster/view.ts';
import { approvalsOf } from '../machine/repair/approvals.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import type { RestoreRecord } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';
import { assessEtcd, type EtcdCondition } from './decide-restore.ts';
import { describePlannedRestore, describeRestoreRejection, describeVerification } from './describe-restore.ts';
import { observeControlPlanes } from './observe-control-planes.ts';
import { reportRestore } from './report-restore.ts';
import { type RestoreRequest, readRestoreRequest } from './restore-request.ts';
import { withBackupSource } from './restore-source.ts';
import type { VerificationMemory } from './verification-memory.ts';
import { type VerifiedBackup, verifyBackup } from './verify-backup.ts';
import { writeRestoreRecord } from './write-restore-record.ts';

/** A large database over a slow line. */
export const verifySeconds = 2400;
const waitSeconds = 15;
/** After a refusal. Its cause is seen at once if it is on the platform cluster. */
const retrySeconds = 60;

/** The approvals of a restore, by what they destroy. */
const approvalReasons = ['RestoreNotApproved', 'EtcdHasQuorum'] as const;

export interface RequestedRestore {
  readonly cluster: Cluster;
  readonly secrets: ClusterSecrets;
  readonly request: RestoreRequest;
  /** A restore that is under way, from another backup. */
  readonly former?: RestoreRecord | undefined;
}

/**
 * Verifies the backup, reports what a restore would do, and begins it when a user has approved that. Nothing is changed
 * before.
 */
export async function prepareRestore(
  services: Services,
  memory: VerificationMemory,
  requested: RequestedRestore,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { cluster, former } = requested;
  const backup = await verifyOnce(services, memory, requested, context);
  if (backup instanceof ProviderError) {
    await reportRestore(services, cluster, describeRestoreRejection(backup), context.signal);
    return { requeueAfterSeconds: retrySeconds };
  }
  const ref = clusterIdentityOf(cluster);
  const states = await observeControlPlanes(services, ref, machinesOfCluster(services, ref), context.signal);
  // What a restore has wiped already is no loss any more.
  const assessed = assessEtcd(states);
  const etcd: EtcdCondition = former && assessed.kind === 'unknown' ? { kind: 'lost' } : assessed;
  const plan = { key: requested.request.key, time: backup.time, controlPlanes: states.map(({ name }) => name), etcd };
  if (!isApproved(cluster, etcd)) {
    await reportRestore(services, cluster, describePlannedRestore(plan), context.signal);
    return { requeueAfterSeconds: waitSeconds };
  }
  if (!(await isStillApproved(services, requested, etcd, context.signal))) return { requeueAfterSeconds: 1 };
  await beginRestore(services, requested, { ...backup, overQuorum: etcd.kind === 'quorum' }, context);
  return { requeueAfterSeconds: 1 };
}

function isApproved(cluster: Cluster, { kind }: EtcdCondition): boolean {
  const { approved } = approvalsOf(cluster);
  if (kind === 'quorum') return approved.includes('EtcdHasQuorum');
  return kind === 'lost' && approvalReasons.some((reason) => approved.includes(reason));
}

/** The backup was read for minutes, and the user may have taken the request or the approval back meanwhile. */
async function isStillApproved(
  { kube }: Services,
  { cluster, request }: RequestedRestore,
  etcd: EtcdCondition,
  signal: AbortSignal,
): Promise<boolean> {
  const latest = await kube.find(Cluster, clusterIdentityOf(cluster), signal);
  if (!latest || latest.metadata.uid !== cluster.metadata.uid || latest.metadata.deletionTimestamp) return false;
  return isDeepStrictEqual(readRestoreRequest(latest), request) && isApproved(latest, etcd);
}

/** Reading a backup to its end takes minutes, so it is done once for each request. */
async function verifyOnce(
  services: Services,
  memory: VerificationMemory,
  { cluster, secrets, request }: RequestedRestore,
  { signal, log }: ReconcileContext,
): Promise<VerifiedBackup | ProviderError> {
  const { stores, namespace } = services;
  const identityVersion = stores.secrets.get({ namespace, name: request.identity })?.metadata.resourceVersion ?? '';
  const known = identityVersion === '' ? undefined : memory.find(cluster, { ...request, identityVersion });
  if (known) return known;
  if (!cluster.status?.conditions?.some(({ type, status }) => type === 'EtcdRestored' && status !== 'True'))
    await reportRestore(services, cluster, describeVerification(request.key), signal);
  try {
    const backup = await withDeadline(verifySeconds, signal, (limit) =>
      withBackupSource(services, cluster, request, limit, (source) => verifyBackup(source, secrets.bundle)),
    );
    memory.remember(cluster, { ...request, identityVersion }, backup);
    log.info({ key: request.key }, 'the backup to restore is whole');
    return backup;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return new ProviderError('S3_FAILED', `It could not be read within ${verifySeconds / 60} minutes.`);
    if (!(error instanceof ProviderError) || error.retry === 'bug') throw error;
    return error;
  }
}

/** With the record everything else stops. */
async function beginRestore(
  services: Services,
  { cluster, secrets, request }: RequestedRestore,
  { time, revision, snapshot, overQuorum }: VerifiedBackup & Pick<RestoreRecord, 'overQuorum'>,
  { signal, log }: ReconcileContext,
): Promise<void> {
  const record: RestoreRecord = {
    ...request,
    sha256: snapshot.sha256,
    time: time.toISOString(),
    ...(revision === undefined ? {} : { revision }),
    startedAt: services.clock.now().toISOString(),
    overQuorum,
    wipes: {},
    attempts: 0,
  };
  await writeRestoreRecord(services, secrets.object, record, signal);
  const message = `Etcd is being restored from ${request.key}, the backup of ${formatTime(time)}, as approved.`;
  services.events.record(cluster, 'Warning', 'RestoreStarted', message);
  log.warn({ key: request.key }, 'a restore of etcd begins');
}

/** An approval holds for one restore. */
export async function endApproval({ kube }: Services, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const { approved } = approvalsOf(cluster);
  const left = approved.filter((reason) => !approvalReasons.some((one) => one === reason)).join(',');
  if (left === approved.join(',')) return;
  const patch = { metadata: { annotations: { [annotations.approve]: left === '' ? null : left } } };
  await kube.merge(Cluster, clusterIdentityOf(cluster), patch, {}, signal);
}
