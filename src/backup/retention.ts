import { isComplete, type StoredBackup } from './stored-backups.ts';

/**
 * The keys to delete so that the newest `keep` complete backups of one cluster are left, in the order of deletion: the
 * manifest first, so that a backup is either complete or not listed. An incomplete backup is deleted only if a complete one
 * is newer. Without a complete backup nothing is deleted.
 */
export function planRetention(backups: readonly StoredBackup[], keep: number): readonly string[] {
  const complete = backups.filter(isComplete).map(({ time }) => time);
  const kept = [...complete].sort().slice(-Math.max(1, keep));
  const newest = kept.at(-1);
  if (newest === undefined) return [];
  const isSurplus = (backup: StoredBackup): boolean =>
    isComplete(backup) ? !kept.includes(backup.time) : backup.time < newest;
  return backups
    .filter(isSurplus)
    .flatMap(({ keys }) => [keys.manifest, keys.etcd, keys.secrets, keys.objects])
    .filter((key) => key !== undefined);
}
