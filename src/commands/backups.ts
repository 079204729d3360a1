import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProviderConfig } from '../api/provider-config.ts';
import type { BackupSpec } from '../api/schema/backup-schema.ts';
import type { BackupStorage } from '../backup/backup-storage.ts';
import { parseIdentities } from '../backup/decrypt.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { readManifest } from '../backup/read-backup.ts';
import { isComplete, type StoredBackup } from '../backup/stored-backups.ts';
import { type BackupObject, openVerified, toDamaged } from '../backup/verified-content.ts';
import { openStorage } from '../controllers/backup/open-storage.ts';
import { parseSpec } from '../controllers/shared/spec/parse-spec.ts';
import { ProviderError } from '../lib/errors.ts';
import type { SecretString } from '../lib/secret-string.ts';
import { chooseBackup, findBackups } from './backup/choose-stored.ts';
import { requireFolder } from './backup/output-folder.ts';
import { writeWholeFile } from './backup/whole-file.ts';
import type { BackupsSettings } from './flags/read-only-settings.ts';
import { renderBackupTable, toBackupsOutput } from './output/backup-table.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { formatStructured } from './output/structured-output.ts';
import { type ReadOnlyCommandContext, withReadOnlySession } from './read-only/read-only-session.ts';
import { selectProviderConfig } from './read-only/select-provider-config.ts';

/** A large database over a slow line. */
const timeoutSeconds = 2400;

type BackupsOptions = BackupsSettings & ReadOnlyCommandContext;

/** Lists, verifies or fetches the backups in the bucket of a ProviderConfig. Nothing in the bucket is changed. */
export async function runBackups(options: BackupsOptions): Promise<void> {
  if (options.action === 'fetch') await requireFolder(options.outputFolder);
  const identities = options.identity === undefined ? [] : await readIdentities(options.identity);
  await withReadOnlySession({ ...options, timeoutSeconds }, async ({ kube, credentials, clock, signal }) => {
    const configs = (await kube.list(ProviderConfig, {}, signal)).items;
    const config = selectProviderConfig(configs, options.providerConfig);
    const backup = requireBackup(config);
    const { s3 } = backup;
    const storage = openStorage(s3, await credentials(s3.credentialsRef.name), { clock, signal });
    try {
      if (options.action === 'list') await listBackups(storage, s3.prefix, options);
      else await readBackup(storage, s3.prefix, identities, { ...options, signal });
    } finally {
      await storage.close();
    }
  });
}

async function readIdentities(path: string): Promise<readonly SecretString[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ProviderError('CONFIG_INVALID', `--identity: ${path} cannot be read.`, { cause });
  });
  return parseIdentities(text);
}

function requireBackup(config: ProviderConfig): BackupSpec {
  const { name } = config.metadata;
  const parsed = parseSpec(config);
  if (!parsed.success)
    throw new ProviderError(
      'CONFIG_INVALID',
      `ProviderConfig ${name} is not valid: run check --provider-config ${name}.`,
    );
  const { backup } = parsed.data;
  if (!backup)
    throw new ProviderError('CONFIG_INVALID', `ProviderConfig ${name} has no spec.backup. Name another one.`);
  return backup;
}

async function listBackups(storage: BackupStorage, prefix: string, options: BackupsOptions): Promise<void> {
  const found = await findBackups(storage, prefix, options.cluster);
  const listed = [];
  for (const backup of found) {
    const manifest = isComplete(backup) ? await readManifest(storage, backup.keys.manifest ?? '') : undefined;
    listed.push({ backup, manifest });
  }
  if (options.output !== 'text') options.print(formatStructured(toBackupsOutput(listed), options.output));
  else options.print(listed.length > 0 ? renderBackupTable(listed) : 'There are no backups.');
}

/** Reads both objects of a backup to their ends, and writes them to files if they are to be fetched. */
async function readBackup(
  storage: BackupStorage,
  prefix: string,
  identities: readonly SecretString[],
  options: BackupsOptions,
): Promise<void> {
  const backup = await chooseBackup(storage, prefix, options);
  const manifest = await readManifest(storage, backup.keys.manifest ?? '');
  if (!manifest)
    throw new ProviderError('BACKUP_DAMAGED', `${backup.keys.manifest}: it is no manifest. Use another backup.`);
  const done: string[] = [];
  const isDecrypted = identities.length > 0;
  for (const object of objectsOf(backup, manifest)) {
    const path = pathFor(backup, object, identities, options);
    const content = await openVerified(storage, object, identities);
    try {
      if (options.action === 'verify') await readToEnd(content);
      else await writeWholeFile({ path, flag: '--output-folder', signal: options.signal }, content);
    } catch (error) {
      throw toDamaged(error, object.key);
    }
    done.push(options.action === 'fetch' ? path : object.key);
    if (options.output === 'text') options.print(describeRead(options.action, done.at(-1) ?? '', isDecrypted));
  }
  if (options.output === 'text') return;
  const verified = done.map((key) => ({ key, isDecrypted }));
  const output: CommandOutput<'backups fetch'> | CommandOutput<'backups verify'> =
    options.action === 'fetch' ? { files: done } : { verified };
  options.print(formatStructured(output, options.output));
}

const describeRead = (action: BackupsOptions['action'], what: string, isDecrypted: boolean): string =>
  action === 'fetch' ? what : `${what}: ${isDecrypted ? 'whole, and can be decrypted' : 'as it was written'}.`;

const objectsOf = ({ keys }: StoredBackup, { etcd, secrets, objects }: BackupManifest): readonly BackupObject[] => [
  { key: keys.etcd ?? '', ...etcd, isSnapshot: true },
  { key: keys.secrets ?? '', ...secrets, isSnapshot: false },
  { key: keys.objects ?? '', ...objects, isSnapshot: false },
];

async function readToEnd(content: ReadableStream<Uint8Array>): Promise<void> {
  const reader = content.getReader();
  for (let end = await reader.read(); !end.done; end = await reader.read()) {
    // The stream verifies itself.
  }
}

function pathFor(
  { owner, time }: StoredBackup,
  { key, isSnapshot }: BackupObject,
  identities: readonly SecretString[],
  { outputFolder }: BackupsOptions,
): string {
  const encrypted = key.slice(key.lastIndexOf('.', key.length - '.age'.length - 1) + 1);
  const ending = identities.length > 0 ? encrypted.replace(/age$/, isSnapshot ? 'db' : 'yaml') : encrypted;
  return join(outputFolder, `${owner.namespace}-${owner.name}-${time}.${ending}`);
}
