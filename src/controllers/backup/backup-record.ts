import { z } from 'zod';
import type { Cluster } from '../../api/openmcp/types.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { correctTime, isFutureTime } from '../../lib/recorded-time.ts';
import { formatTime } from '../../lib/text.ts';
import { SnapshotError } from '../../talos/etcd-snapshot/snapshot-error.ts';
import { clusterReports } from '../shared/cluster-report.ts';
import type { TakenBackup } from './take-backup.ts';

const timeSchema = z.iso.datetime().transform((text) => new Date(text));

/** What is known of the backups of a cluster. */
const Record = z.object({
  /** Time of the last complete backup. */
  lastSuccess: timeSchema.optional(),
  lastAttempt: timeSchema.optional(),
  /** Failures since the last success. */
  failures: z.int().min(0).default(0),
  /** Why the last attempt failed. */
  message: z.string().optional(),
  /** The control planes whose snapshots have failed since the last success, or since all of them had failed. */
  failedMachines: z.array(z.string()).optional(),
  /** Key of the snapshot of the last complete backup. */
  key: z.string().optional(),
  /** Size and duration of it. */
  bytes: z.number().optional(),
  seconds: z.number().optional(),
});
export type BackupRecord = z.infer<typeof Record>;

/** Its field in `status.providerStatus` of a Cluster. */
export const backupRecordKey = clusterReports.backup.field;

const noBackup: BackupRecord = { failures: 0 };

/** What the status says. */
export const readBackupRecord = ({ status }: Cluster): BackupRecord =>
  Record.safeParse(status?.providerStatus?.[backupRecordKey]).data ?? noBackup;

/** Undefined: nothing was tried yet. */
export function renderBackupRecord(record: BackupRecord): object | undefined {
  const { lastAttempt, lastSuccess, ...rest } = record;
  if (!lastAttempt && !lastSuccess) return undefined;
  const format = (time: Date | undefined): string | undefined => time && formatTime(time);
  return { ...rest, lastAttempt: format(lastAttempt), lastSuccess: format(lastSuccess) };
}

/**
 * The record after a backup is complete. A backup that follows one with a later time, because the clock was set back in
 * between, has a time in the future.
 */
export function recordSuccess(
  { time, key, bytes, seconds }: Pick<TakenBackup, 'time' | 'key' | 'bytes' | 'seconds'>,
  lastAttempt: Date,
): BackupRecord {
  return { failures: 0, lastAttempt, lastSuccess: correctTime(time, lastAttempt), key, bytes, seconds };
}

/**
 * Adds the control plane that could not give its snapshot. One that had failed before was asked because all others had, too:
 * they begin anew.
 */
export function addFailedMachine(
  { failedMachines = [] }: BackupRecord,
  error: unknown,
): Pick<BackupRecord, 'failedMachines'> {
  if (!(error instanceof SnapshotError)) return {};
  const { machine } = error;
  return { failedMachines: failedMachines.includes(machine) ? [machine] : [...failedMachines, machine] };
}

/** The schedule and the pauses after failures count from these times, and the clock may have been set back since. */
function correctTimes(record: BackupRecord, now: Date): BackupRecord {
  const { lastAttempt, lastSuccess } = record;
  if (![lastAttempt, lastSuccess].some((time) => time && isFutureTime(time, now))) return record;
  const correct = (time: Date | undefined): Date | undefined => time && correctTime(time, now);
  return { ...record, lastAttempt: correct(lastAttempt), lastSuccess: correct(lastSuccess) };
}

/** More than the clusters of an instance. The status of an evicted one is read again. */
const maxRemembered = 10_000;

/**
 * The records that this process has written. The status of a Cluster has another writer, which may put back an older one;
 * it is written again then.
 */
export class BackupMemory {
  readonly #records = new LruMap<string, BackupRecord>(maxRemembered);

  /** The newer one of what is remembered and what the status says. Times in the future become `now`. */
  recordOf(cluster: Cluster, now: Date): BackupRecord {
    const written = readBackupRecord(cluster);
    const remembered = this.#records.get(cluster.metadata.uid ?? '');
    const age = (record: BackupRecord | undefined): number => record?.lastAttempt?.getTime() ?? 0;
    const newer = remembered && age(remembered) >= age(written) ? remembered : written;
    const correct = correctTimes(newer, now);
    if (correct !== newer) this.remember(cluster, correct);
    return correct;
  }

  remember({ metadata }: Cluster, record: BackupRecord): void {
    this.#records.set(metadata.uid ?? '', record);
  }
}
