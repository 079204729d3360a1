import { annotations } from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import type { BackupSpec } from '../../api/schema/backup-schema.ts';
import type { ReconcileContext, ReconcileResult } from '../../kube/controller/controller.ts';
import { type ObjectKey, objectKeyOf } from '../../kube/resource.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { findServedCluster } from '../cluster/cluster-responsibility.ts';
import { clusterIdentityOf, findProviderConfig, findSecretsState, machinesOfCluster } from '../cluster/view.ts';
import { type ClusterReport, clusterReports, writeClusterReport } from '../shared/cluster-report.ts';
import { requireClusterSecrets } from '../shared/secrets/cluster-secrets-state.ts';
import { decodeSecretData } from '../shared/secrets/platform-credentials.ts';
import { isBeingRestored } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';
import { checkBackup } from '../shared/spec/check-backup.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { recordWrite } from '../shared/status-writes.ts';
import {
  addFailedMachine,
  type BackupMemory,
  type BackupRecord,
  recordSuccess,
  renderBackupRecord,
} from './backup-record.ts';
import { type BackupDecision, decideBackup, findDueTime, spreadOf } from './decide-backup.ts';
import { describeBackup, describeInvalidConfig } from './describe-backup.ts';
import { credentialsMissing, openStorage } from './open-storage.ts';
import { isBackupRequested } from './request-backup.ts';
import { type TakenBackup, takeBackup } from './take-backup.ts';

/** Wall clocks jump, and the schedule follows them. A look costs no call. */
const lookSeconds = 60;
/** A large database over a slow line. */
export const attemptSeconds = 2400;
/** Takes the backups of one Cluster when they are due, one after the other, and reports them on it. */
export async function reconcileBackup(
  services: Services,
  memory: BackupMemory,
  key: ObjectKey,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const cluster = findServedCluster(services, key);
  if (!cluster || cluster.metadata.deletionTimestamp) return {};
  if (isBeingRestored(services, clusterIdentityOf(cluster))) return { requeueAfterSeconds: lookSeconds };
  const config = findProviderConfig(services, cluster);
  const parsed = config && parseSpec(config);
  if (!config || !parsed) return {};
  const record = memory.recordOf(cluster, services.clock.now());
  if (!parsed.success || checkBackup(parsed.data).length > 0) {
    const isAsked = config.spec.backup !== undefined;
    const condition = isAsked ? describeInvalidConfig(config.metadata.name) : undefined;
    await writeReport(services, cluster, { condition, record: renderBackupRecord(record) }, context);
    return {};
  }
  const { backup } = parsed.data;
  if (!backup) {
    await writeReport(services, cluster, { condition: undefined, record: renderBackupRecord(record) }, context);
    return await refuseRequest(services, cluster, context);
  }
  return await followSchedule(services, memory, { cluster, backup, record }, context);
}

const writeReport = async (
  services: Services,
  cluster: Cluster,
  report: ClusterReport,
  { signal }: ReconcileContext,
): Promise<void> => await writeClusterReport(services, cluster, clusterReports.backup, report, signal);

interface BackupTask {
  readonly cluster: Cluster;
  readonly backup: BackupSpec;
  readonly record: BackupRecord;
}

async function followSchedule(
  services: Services,
  memory: BackupMemory,
  { cluster, backup, record }: BackupTask,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  const { clock } = services;
  const isBootstrapped = cluster.status?.conditions?.some(
    ({ type, status }) => type === 'Bootstrapped' && status === 'True',
  );
  if (!isBootstrapped) return { requeueAfterSeconds: lookSeconds };
  const { uid = '', creationTimestamp = '' } = cluster.metadata;
  const createdAt = new Date(creationTimestamp);
  const situationOf = (known: BackupRecord) => ({
    ...{ schedule: backup, record: known, createdAt, spreadSeconds: spreadOf(uid) },
    ...{ isRequested: isBackupRequested(cluster), now: clock.now() },
  });
  const report = async (known: BackupRecord): Promise<void> => {
    const condition = describeBackup(known, findDueTime(situationOf(known)), clock.now());
    await writeReport(services, cluster, { condition, record: renderBackupRecord(known) }, context);
  };
  await report(record);
  const decision = decideBackup(situationOf(record));
  if (decision.kind === 'wait') return { requeueAfterSeconds: secondsUntil(decision.until, clock.now()) };
  const next = await attempt(services, { cluster, backup, record }, decision, context);
  memory.remember(cluster, next);
  await report(next);
  await endRequest(services, cluster, context);
  return { requeueAfterSeconds: 1 };
}

/** The record after an attempt. An error that is not the fault of the cluster or the bucket is thrown. */
async function attempt(
  services: Services,
  { cluster, backup, record }: BackupTask,
  { since }: Extract<BackupDecision, { kind: 'take' }>,
  { signal, log }: ReconcileContext,
): Promise<BackupRecord> {
  const lastAttempt = services.clock.now();
  try {
    const taken = await withDeadline(attemptSeconds, signal, (limit) =>
      takeFrom(services, { cluster, backup, record }, since, { signal: limit, log }),
    );
    if (taken.machine !== undefined)
      services.events.record(cluster, 'Normal', 'BackupTaken', describeTaken(taken, taken.machine));
    if (record.failures > 0) log.info({ failures: record.failures }, 'backups are complete again');
    return recordSuccess(taken, lastAttempt);
  } catch (error) {
    signal.throwIfAborted();
    const message = describeFailure(error);
    if (message === undefined) throw error;
    const failures = record.failures + 1;
    if (failures === 1) services.events.record(cluster, 'Warning', 'BackupFailed', message);
    const fields = { failures, error: message };
    if (message === record.message) log.debug(fields, 'a backup has failed');
    else log.warn(fields, 'a backup has failed');
    return { ...record, failures, lastAttempt, message, ...addFailedMachine(record, error) };
  }
}

const describeTaken = ({ bytes, key }: TakenBackup, machine: string): string =>
  `A backup was taken: ${bytes} bytes of etcd from ${machine}, and the Secrets of the cluster. Its key is ${key}.`;

/** Undefined for an error of the provider or the platform cluster. */
function describeFailure(error: unknown): string | undefined {
  if (error instanceof ProviderError) return error.retry === 'bug' ? undefined : error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `The backup took longer than ${attemptSeconds / 60} minutes. Check the line to the bucket and to the nodes.`;
  return undefined;
}

async function takeFrom(
  services: Services,
  { cluster, backup: spec, record }: BackupTask,
  since: Date,
  context: ReconcileContext,
): Promise<TakenBackup> {
  const { stores, namespace, installation } = services;
  const ref = clusterIdentityOf(cluster);
  const { name } = spec.s3.credentialsRef;
  const credentials = stores.secrets.get({ namespace, name });
  if (!credentials) throw credentialsMissing(`there is no Secret ${name} in namespace ${namespace}. Create it.`);
  const state = findSecretsState(services, ref) ?? { kind: 'none' };
  const secrets = requireClusterSecrets(state, `of Cluster ${ref.namespace}/${ref.name}`);
  const machines = machinesOfCluster(services, ref);
  const owner = { installation, ...ref };
  const storage = openStorage(spec.s3, decodeSecretData(credentials), {
    clock: services.clock,
    signal: context.signal,
  });
  try {
    const failed = record.failedMachines ?? [];
    return await takeBackup(services, { cluster, owner, secrets, machines, spec, storage, failed }, since, context);
  } finally {
    await storage.close();
  }
}

/** The request is over when it was tried: the condition has the result, and a failure is tried again by itself. */
async function endRequest({ kube }: Services, cluster: Cluster, { signal }: ReconcileContext): Promise<void> {
  if (!isBackupRequested(cluster)) return;
  const metadata = { annotations: { [annotations.takeBackup]: null } };
  // The cache shows the request for a while: it must not be followed twice.
  await recordWrite(kube, Cluster, cluster, () => kube.merge(Cluster, objectKeyOf(cluster), { metadata }, {}, signal));
}

async function refuseRequest(
  services: Services,
  cluster: Cluster,
  context: ReconcileContext,
): Promise<ReconcileResult> {
  if (!isBackupRequested(cluster)) return {};
  const message = 'The ProviderConfig of this Cluster has no spec.backup, which says where backups are stored. Add it.';
  services.events.record(cluster, 'Warning', 'BackupFailed', message);
  await endRequest(services, cluster, context);
  return {};
}

const secondsUntil = (time: Date, now: Date): number =>
  Math.min(lookSeconds, Math.max(1, Math.ceil((time.getTime() - now.getTime()) / 1000)));
