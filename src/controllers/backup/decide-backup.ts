import { type BackupSchedule, findNextTime } from '../../backup/schedule.ts';
import { spreadById } from '../../lib/hash.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';
import type { BackupRecord } from './backup-record.ts';

/** Clusters with one schedule begin within this time. */
const maxSpreadSeconds = 300;

/** Whole seconds after each time of the schedule, always the same for one cluster. */
export const spreadOf = (uid: string): number => spreadById(uid, maxSpreadSeconds);

export interface BackupSituation {
  readonly schedule: BackupSchedule;
  readonly record: BackupRecord;
  /** When the cluster was created: what was due before is not made up for. */
  readonly createdAt: Date;
  readonly spreadSeconds: number;
  /** A user asks for one now. */
  readonly isRequested: boolean;
  readonly now: Date;
}

export type BackupDecision =
  /** A complete backup that was begun at `since` or later serves this one as well. */
  { readonly kind: 'take'; readonly since: Date } | { readonly kind: 'wait'; readonly until: Date };

/** When the next backup is due; undefined if the schedule does not occur any more. */
export function findDueTime(situation: Omit<BackupSituation, 'now' | 'isRequested'>): Date | undefined {
  const { schedule, record, createdAt, spreadSeconds } = situation;
  // Counted from the time of the schedule and not from the begin, which is later by the spread: a schedule may be denser.
  const last = record.lastSuccess && addSeconds(record.lastSuccess, -spreadSeconds);
  const next = findNextTime(schedule, last ?? createdAt);
  return next && addSeconds(next, spreadSeconds);
}

/** However many backups were missed, one is taken. After a failure the next attempt is some minutes later. */
export function decideBackup(situation: BackupSituation): BackupDecision {
  const { record, isRequested, now } = situation;
  if (isRequested) return { kind: 'take', since: now };
  const due = findDueTime(situation) ?? farFuture;
  const retry = findRetryTime(record);
  // A request that failed is tried again, too, whether or not a backup is due.
  if (retry) return retry <= now ? { kind: 'take', since: due < now ? due : now } : { kind: 'wait', until: retry };
  return due <= now ? { kind: 'take', since: due } : { kind: 'wait', until: due };
}

/** When the next attempt after a failure may begin; undefined without a failure. */
export function findRetryTime({ failures, lastAttempt }: BackupRecord): Date | undefined {
  if (failures === 0 || !lastAttempt) return undefined;
  return addSeconds(lastAttempt, backoffSeconds(failures, { baseSeconds: 60, capSeconds: 3600, random: () => 1 }));
}

const farFuture = new Date(8.64e15);

const addSeconds = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1000);
