import { keyRoot, type ParsedKey, parseBackupKey } from '../../backup/backup-keys.ts';
import type { BackupStorage } from '../../backup/backup-storage.ts';
import { groupBackups, isComplete, type StoredBackup } from '../../backup/stored-backups.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { BackupsSettings } from '../flags/read-only-settings.ts';

/** Those of one cluster, or all below the prefix: also of clusters, and of platform clusters, that do not exist any more. */
export async function findBackups(
  storage: BackupStorage,
  prefix: string,
  cluster: BackupsSettings['cluster'],
): Promise<readonly StoredBackup[]> {
  const all = groupBackups(prefix, await storage.list(keyRoot(prefix)));
  return all.filter(({ owner }) => !cluster || (owner.namespace === cluster.namespace && owner.name === cluster.name));
}

/** The complete backup that `--key` names; else the newest one of `--cluster`. */
export async function chooseBackup(
  storage: BackupStorage,
  prefix: string,
  { cluster, key }: Pick<BackupsSettings, 'cluster' | 'key'>,
): Promise<StoredBackup> {
  if (key !== undefined) return await findByKey(storage, prefix, key);
  const found = (await findBackups(storage, prefix, cluster)).filter(isComplete);
  const newest = [...found].sort((a, b) => (a.time < b.time ? -1 : 1)).at(-1);
  if (newest) return newest;
  const name = `${cluster?.namespace}/${cluster?.name}`;
  throw new ProviderError('BACKUP_MISSING', `--cluster: there is no complete backup of ${name}. See backups list.`);
}

async function findByKey(storage: BackupStorage, prefix: string, key: string): Promise<StoredBackup> {
  const wanted = parseBackupKey(prefix, key);
  if (!wanted)
    throw new ProviderError(
      'BACKUP_MISSING',
      `--key: ${key} is no key below the prefix ${prefix}. Use one that list prints.`,
    );
  const found = (await findBackups(storage, prefix, wanted.owner)).filter(isComplete);
  const backup = found.find((one) => isOf(one, wanted));
  if (backup) return backup;
  throw new ProviderError('BACKUP_MISSING', `--key: there is no complete backup ${key}. Use one that list prints.`);
}

const isOf = ({ time, owner }: StoredBackup, wanted: ParsedKey): boolean =>
  time === wanted.time && owner.uid === wanted.owner.uid && owner.installation === wanted.owner.installation;
