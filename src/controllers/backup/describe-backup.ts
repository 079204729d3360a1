import { type ConditionState, conditionFalse, conditionTrue, conditionUnknown } from '../../api/conditions.ts';
import { formatTime } from '../../lib/text.ts';
import type { BackupRecord } from './backup-record.ts';
import { findRetryTime } from './decide-backup.ts';

/** Until then a backup that is due may wait for others. */
export const overdueSeconds = 3600;

/** The condition `BackedUp`. `due`: undefined if the schedule does not occur any more. */
export function describeBackup(record: BackupRecord, due: Date | undefined, now: Date): ConditionState {
  const { failures, message, lastSuccess, key } = record;
  const last = lastSuccess ? `The last backup is that of ${formatTime(lastSuccess)}.` : 'There is no backup yet.';
  if (failures > 0) {
    const retry = findRetryTime(record);
    const next = retry ? ` The next attempt is at ${formatTime(retry)}.` : '';
    return conditionFalse('BackedUp', 'BackupFailed', `${message ?? ''} ${last}${next}`.trim());
  }
  const next = due ? ` The next is due at ${formatTime(due)}.` : '';
  if (!lastSuccess) return conditionUnknown('BackedUp', 'BackupPending', `${last}${next}`);
  if (due && now.getTime() - due.getTime() > overdueSeconds * 1000)
    return conditionFalse('BackedUp', 'BackupOverdue', `A backup has been due since ${formatTime(due)}. ${last}`);
  return conditionTrue('BackedUp', `The last backup is that of ${formatTime(lastSuccess)}: ${key}.${next}`);
}

/** The schedule and the bucket are not known while the ProviderConfig is not valid. */
export const describeInvalidConfig = (config: string): ConditionState =>
  conditionFalse(
    'BackedUp',
    'InvalidConfig',
    `No backup is taken: ProviderConfig ${config} is not valid. Its condition ConfigValid names the field.`,
  );
