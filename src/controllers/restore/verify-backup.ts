import { createHash } from 'node:crypto';
import { parseAllDocuments } from 'yaml';
import { annotations } from '../../api/names.ts';
import { ownerPrefix, parseBackupKey } from '../../backup/backup-keys.ts';
import type { BackupStorage } from '../../backup/backup-storage.ts';
import { parseIdentities } from '../../backup/decrypt.ts';
import { readManifest } from '../../backup/read-backup.ts';
import { groupBackups, isComplete } from '../../backup/stored-backups.ts';
import { type BackupObject, openVerified, toDamaged } from '../../backup/verified-content.ts';
import type { Secret } from '../../kube/core-types.ts';
import { readBounded } from '../../lib/bounded-read.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import type { SecretsBundle } from '../../talos/secrets/secrets-bundle.ts';
import { readClusterSecrets, secretsBundleKey } from '../shared/secrets/cluster-secrets.ts';

/** A backup whose content was read to its end, and belongs to the cluster. */
export interface VerifiedBackup {
  /** When the snapshot was begun. */
  readonly time: Date;
  readonly snapshot: BackupObject;
  /** A revision of etcd that the snapshot contains; undefined in backups that do not tell. */
  readonly revision: number | undefined;
}

/** Where a backup is, and what opens it. */
export interface BackupSource {
  readonly storage: BackupStorage;
  readonly prefix: string;
  readonly key: string;
  /** The Secret with the identity, for messages. */
  readonly identityName: string;
  readonly identities: readonly SecretString[];
}

/** The Secrets of a cluster with the keys of some thousand disks. */
const maxSecretsBytes = 16 * 1024 * 1024;

/** Finds a backup by the key of its snapshot. Throws BACKUP_MISSING, naming the annotation. */
export async function findBackup({ storage, prefix, key }: BackupSource): Promise<VerifiedBackup & SecretsPart> {
  const field = `metadata.annotations[${annotations.restore}]`;
  const parsed = parseBackupKey(prefix, key);
  if (parsed?.part !== 'etcd')
    throw new ProviderError(
      'BACKUP_MISSING',
      `${field}: this is no key of a snapshot below the prefix ${prefix}. Use one that the command backups list prints.`,
    );
  const { owner, time } = parsed;
  const found = groupBackups(prefix, await storage.list(ownerPrefix(prefix, owner)));
  const backup = found.find((one) => one.time === time && isComplete(one));
  if (!backup)
    throw new ProviderError(
      'BACKUP_MISSING',
      `${field}: there is no complete backup ${key}. Use one that the command backups list prints.`,
    );
  const manifest = await readManifest(storage, backup.keys.manifest ?? '');
  if (!manifest)
    throw new ProviderError('BACKUP_DAMAGED', `${backup.keys.manifest}: it is no manifest. Use another backup.`);
  return {
    time: new Date(manifest.time),
    snapshot: { key, ...manifest.etcd, isSnapshot: true },
    secrets: { key: backup.keys.secrets ?? '', ...manifest.secrets, isSnapshot: false },
    revision: manifest.revision,
  };
}

interface SecretsPart {
  readonly secrets: BackupObject;
}

/**
 * Reads a whole backup once, piece by piece: it is as it was written, the identity opens it, and its Secrets are those of
 * the cluster. Throws a ProviderError that names the field and the remedy.
 */
export async function verifyBackup(source: BackupSource, bundle: SecretsBundle): Promise<VerifiedBackup> {
  const { secrets, ...backup } = await findBackup(source);
  const text = await readObject(source, secrets, (content) => readBounded(content, maxSecretsBytes, secrets.key));
  assertSameSecrets(findBundle(text.toString('utf8'), secrets.key), bundle, source.key);
  await readObject(source, backup.snapshot, readToEnd);
  return backup;
}

/** Opens the snapshot in clear. The stream ends in order only if everything was as the manifest says. */
export async function openSnapshot(
  source: Pick<BackupSource, 'storage' | 'identities' | 'identityName'>,
  snapshot: BackupObject,
): Promise<ReadableStream<Uint8Array>> {
  try {
    return await openVerified(source.storage, snapshot, source.identities);
  } catch (error) {
    throw toIdentityError(error, source.identityName);
  }
}

async function readObject<T>(
  source: BackupSource,
  object: BackupObject,
  read: (content: ReadableStream<Uint8Array>) => Promise<T>,
): Promise<T> {
  const content = await openSnapshot(source, object);
  try {
    return await read(content);
  } catch (error) {
    throw toDamaged(error, object.key);
  }
}

async function readToEnd(content: ReadableStream<Uint8Array>): Promise<void> {
  for await (const _ of content) {
    // The stream verifies itself.
  }
}

/** The identities of the Secret that the annotation names. */
export function readIdentities(name: string, secret: Secret | undefined): readonly SecretString[] {
  const text = secret?.data?.['identity'];
  if (text === undefined)
    throw new ProviderError(
      'CREDENTIALS_MISSING',
      `metadata.annotations[${annotations.restoreIdentity}]: there is no Secret ${name} with a key identity in the namespace of the provider. Create it.`,
    );
  try {
    return parseIdentities(Buffer.from(text, 'base64').toString('utf8'));
  } catch (error) {
    throw toIdentityError(error, name);
  }
}

/** The errors of the parts that the command shares name its flag. */
function toIdentityError(error: unknown, name: string): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code !== 'CONFIG_INVALID' && error.code !== 'CREDENTIALS_REFUSED') return error;
  const detail =
    error.code === 'CONFIG_INVALID'
      ? 'has no line that begins with AGE-SECRET-KEY- in its key identity. Store the file that age-keygen has written'
      : 'has no identity that decrypts the backup. Use one whose public key was in spec.backup.recipients when it was taken';
  return new ProviderError(
    error.code,
    `metadata.annotations[${annotations.restoreIdentity}]: Secret ${name} ${detail}.`,
  );
}

/** The bundle of the cluster among the manifests of a backup. */
function findBundle(text: string, key: string): SecretsBundle {
  const objects = parseAllDocuments(text).map((document): unknown => document.toJS());
  const secret = objects.find((one) => (one as Partial<Secret> | null)?.data?.[secretsBundleKey] !== undefined);
  if (secret === undefined)
    throw new ProviderError('BACKUP_DAMAGED', `${key}: it has no Secret of a cluster. Use another backup.`);
  return readClusterSecrets(secret as Secret).bundle;
}

/**
 * The keys without which the objects of the snapshot could not be read, or the tokens of its accounts would not hold. The
 * authorities may have been replaced since.
 */
function assertSameSecrets(stored: SecretsBundle, present: SecretsBundle, key: string): void {
  if (identify(stored) === identify(present)) return;
  throw new ProviderError(
    'CLUSTER_SECRETS_DIFFER',
    `metadata.annotations[${annotations.restore}]: ${key} is the backup of another cluster, or of an earlier one of this name: its encryption key is not that of this Cluster. Use a backup of this Cluster.`,
  );
}

const identify = ({ cluster, etcdEncryption, serviceAccountKey }: SecretsBundle): string =>
  createHash('sha256')
    .update(JSON.stringify([cluster.id, etcdEncryption.kind, etcdEncryption.key.reveal(), serviceAccountKey.reveal()]))
    .digest('hex');
