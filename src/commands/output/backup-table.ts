import { parseBackupTime } from '../../backup/backup-keys.ts';
import type { BackupManifest } from '../../backup/manifest.ts';
import type { StoredBackup } from '../../backup/stored-backups.ts';
import type { CommandOutput } from './output-schemas.ts';

/** A backup with its manifest; undefined if it is not complete. */
export interface ListedBackup {
  readonly backup: StoredBackup;
  readonly manifest: BackupManifest | undefined;
}

const header = ['TIME', 'CLUSTER', 'KUBERNETES', 'SNAPSHOT', 'STORED', 'COMPLETE', 'KEY'] as const;

/** The newest first. The last column is what `--key` takes. */
export function renderBackupTable(listed: readonly ListedBackup[]): string {
  const rows = [header, ...newestFirst(listed).map(renderRow)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The same for programs. */
export const toBackupsOutput = (listed: readonly ListedBackup[]): CommandOutput<'backups list'> => ({
  backups: newestFirst(listed).map(({ backup: { owner, time, keys, bytes }, manifest }) => ({
    time: formatTimeOf(time),
    ...{ namespace: owner.namespace, name: owner.name },
    isComplete: manifest !== undefined,
    kubernetesVersion: manifest?.kubernetesVersion || undefined,
    snapshotBytes: manifest?.snapshotBytes,
    storedBytes: bytes,
    key: keys.etcd ?? keys.secrets,
  })),
});

const newestFirst = (listed: readonly ListedBackup[]): ListedBackup[] =>
  [...listed].sort((a, b) => (a.backup.time < b.backup.time ? 1 : -1));

const formatTimeOf = (time: string): string => parseBackupTime(time)?.toISOString().replace('.000', '') ?? time;

function renderRow({ backup, manifest }: ListedBackup): readonly string[] {
  const { owner, time, keys, bytes } = backup;
  return [
    formatTimeOf(time),
    `${owner.namespace}/${owner.name}`,
    manifest?.kubernetesVersion || '-',
    manifest ? formatBytes(manifest.snapshotBytes) : '-',
    formatBytes(bytes),
    manifest ? 'yes' : 'no',
    keys.etcd ?? keys.secrets ?? '-',
  ];
}

const units = ['B', 'KiB', 'MiB', 'GiB'] as const;

function formatBytes(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** unit;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
