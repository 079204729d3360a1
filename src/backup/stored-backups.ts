import { type BackupOwner, type BackupPart, backupParts, ownerPrefix, parseBackupKey } from './backup-keys.ts';
import type { StoredObject } from './backup-storage.ts';

/** The objects of one backup, complete or not. */
export interface StoredBackup {
  readonly owner: BackupOwner;
  readonly time: string;
  readonly keys: Readonly<Partial<Record<BackupPart, string>>>;
  /** Size of all its objects. */
  readonly bytes: number;
}

/** Everything was written, in order: it can be restored from. */
export const isComplete = ({ keys }: StoredBackup): boolean =>
  Object.keys(backupParts).every((part) => keys[part as BackupPart] !== undefined);

/** Groups objects by backup: by owner, the oldest first. Objects of other forms are left out. */
export function groupBackups(prefix: string, objects: readonly StoredObject[]): readonly StoredBackup[] {
  const groups = new Map<string, StoredBackup>();
  for (const { key, bytes } of objects) {
    const parsed = parseBackupKey(prefix, key);
    if (!parsed) continue;
    const { owner, time, part } = parsed;
    const id = `${ownerPrefix(prefix, owner)}${time}`;
    const known = groups.get(id) ?? { owner, time, keys: {}, bytes: 0 };
    groups.set(id, { ...known, keys: { ...known.keys, [part]: key }, bytes: known.bytes + bytes });
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, backup]) => backup);
}
