import type { BackupSpec } from '../../api/schema/backup-schema.ts';
import {
  type BackupOwner,
  type BackupPart,
  backupKey,
  formatBackupTime,
  ownerPrefix,
  parseBackupTime,
} from '../../backup/backup-keys.ts';
import type { BackupStorage } from '../../backup/backup-storage.ts';
import { type ContentProducer, encryptContent } from '../../backup/encrypt.ts';
import { type BackupManifest, renderManifest } from '../../backup/manifest.ts';
import { readManifest } from '../../backup/read-backup.ts';
import { planRetention } from '../../backup/retention.ts';
import { groupBackups, isComplete, type StoredBackup } from '../../backup/stored-backups.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { isFutureTime } from '../../lib/recorded-time.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { type SnapshotReport, streamSnapshot } from '../../talos/etcd-snapshot/stream-snapshot.ts';
import type { Services } from '../shared/services.ts';
import { type CollectedCluster, collectClusterObjects } from './collect-objects.ts';
import { readRevision } from './read-revision.ts';
import { listControlPlanes, renderSecretManifests } from './secret-manifests.ts';

/** A backup that is complete. */
export interface TakenBackup {
  readonly time: Date;
  /** Key of the snapshot. */
  readonly key: string;
  /** Of the snapshot in clear. */
  readonly bytes: number;
  readonly seconds: number;
  /** The control plane that gave it; undefined if the backup was there already. */
  readonly machine?: string;
}

export interface BackupTarget extends CollectedCluster {
  readonly owner: BackupOwner;
  readonly spec: BackupSpec;
  readonly storage: BackupStorage;
  /** The control planes whose snapshots have failed since the last backup. */
  readonly failed: readonly string[];
}

interface BackupContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Takes a backup, and deletes what retention does not keep. A complete backup that was begun at `since` or later counts in
 * its place: a process may have ended before it could report it.
 */
export async function takeBackup(
  services: Pick<Services, 'kube' | 'namespace' | 'clock' | 'targets'>,
  target: BackupTarget,
  since: Date,
  context: BackupContext,
): Promise<TakenBackup> {
  const { storage, owner, spec } = target;
  const { prefix } = spec.s3;
  const found = groupBackups(prefix, await storage.list(ownerPrefix(prefix, owner)));
  const newest = found.findLast(isComplete);
  const now = services.clock.now();
  const present = newest && (await findServing(storage, newest, { since, now }));
  if (present) return present;
  await removeUnfinished(target, context);
  const taken = await writeBackup(services, target, chooseTime(now, newest), context);
  await applyRetention(target, context);
  return taken;
}

/** A second after the newest one at the earliest: two backups never have the same keys, even if the clock was set back. */
function chooseTime(now: Date, newest: StoredBackup | undefined): Date {
  const last = newest && parseBackupTime(newest.time);
  return last && last.getTime() > now.getTime() - 1000 ? new Date(last.getTime() + 1000) : now;
}

async function findServing(
  storage: BackupStorage,
  { time, keys }: StoredBackup,
  { since, now }: { readonly since: Date; readonly now: Date },
): Promise<TakenBackup | undefined> {
  const begun = parseBackupTime(time);
  // When one with a time in the future was begun is not known.
  if (!begun || begun < since || isFutureTime(begun, now)) return undefined;
  const manifest = await readManifest(storage, keys.manifest ?? '');
  return manifest && { time: begun, key: keys.etcd ?? '', bytes: manifest.snapshotBytes, seconds: manifest.seconds };
}

/** What a process has left that ended during an upload. It costs storage and nothing else, so a failure is only logged. */
async function removeUnfinished({ storage, owner, spec }: BackupTarget, { signal, log }: BackupContext): Promise<void> {
  try {
    const count = await storage.removeUnfinished(ownerPrefix(spec.s3.prefix, owner));
    if (count > 0) log.info({ count }, 'unfinished uploads of an earlier backup were removed');
  } catch (error) {
    tolerate(error, signal, log, 'unfinished uploads could not be removed');
  }
}

/** The manifest last: it makes the backup complete. */
async function writeBackup(
  services: Pick<Services, 'kube' | 'namespace' | 'clock' | 'targets'>,
  target: BackupTarget,
  begun: Date,
  { signal, log }: BackupContext,
): Promise<TakenBackup> {
  const { clock } = services;
  const { storage, owner, spec, secrets, machines, failed } = target;
  const start = clock.monotonic();
  const time = formatBackupTime(begun);
  const keyOf = (part: BackupPart): string => backupKey(spec.s3.prefix, owner, time, part);
  const write = async (part: BackupPart, produce: ContentProducer) =>
    await storage.upload(keyOf(part), await encryptContent(spec.recipients, produce));
  const manifests = await renderSecretManifests(services, target, signal);
  const objects = await collectClusterObjects(
    { ...services, installation: owner.installation, now: begun },
    target,
    signal,
  );
  // Before the snapshot, which so contains it.
  const revision = await readRevision(services, target.cluster, signal);
  const source = { controlPlanes: listControlPlanes(machines), failed, bundle: secrets.bundle, clock, signal };
  let report: SnapshotReport = { machine: '', bytes: 0 };
  const etcdObject = await write('etcd', async (piece) => {
    report = await streamSnapshot(source, piece);
  });
  const writeText = (part: BackupPart, content: SecretString) =>
    write(part, (piece) => piece(Buffer.from(content.reveal(), 'utf8')));
  const secretsObject = await writeText('secrets', manifests);
  const objectsObject = await writeText('objects', objects);
  const seconds = Math.round((clock.monotonic() - start) / 1000);
  const manifest: BackupManifest = {
    format: 1,
    time: begun.toISOString(),
    cluster: { namespace: owner.namespace, name: owner.name, uid: owner.uid },
    machine: report.machine,
    kubernetesVersion: secrets.kubernetesVersion ?? '',
    snapshotBytes: report.bytes,
    seconds,
    ...(revision === undefined ? {} : { revision }),
    etcd: etcdObject,
    secrets: secretsObject,
    objects: objectsObject,
  };
  await storage.put(keyOf('manifest'), renderManifest(manifest));
  log.info({ key: keyOf('etcd'), ...report, seconds }, 'a backup is complete');
  return { time: begun, key: keyOf('etcd'), bytes: report.bytes, seconds, machine: report.machine };
}

/** The backup exists, so a failure is only logged: the next backup deletes what is left. */
async function applyRetention(
  { storage, owner, spec: { s3, keep } }: BackupTarget,
  { signal, log }: BackupContext,
): Promise<void> {
  try {
    const backups = groupBackups(s3.prefix, await storage.list(ownerPrefix(s3.prefix, owner)));
    const surplus = planRetention(backups, keep);
    for (const key of surplus) await storage.remove(key);
    if (surplus.length > 0) log.info({ keys: surplus }, 'backups beyond spec.backup.keep were deleted');
  } catch (error) {
    tolerate(error, signal, log, 'backups beyond spec.backup.keep could not be deleted');
  }
}

function tolerate(error: unknown, signal: AbortSignal, log: Log, message: string): void {
  signal.throwIfAborted();
  if (!(error instanceof ProviderError)) throw error;
  log.warn({ code: error.code, error: error.message }, message);
}
