import type { BackupStorageSpec } from '../../api/schema/backup-schema.ts';
import { BackupStorage, type StorageAccess } from '../../backup/backup-storage.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretString, SecretStrings } from '../../lib/secret-string.ts';

/** The bucket of a ProviderConfig, with the keys of the Secret that it names. Close it after use. */
export function openStorage(
  spec: BackupStorageSpec,
  secrets: SecretStrings,
  context: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
): BackupStorage {
  const { endpoint, bucket, region, caBundle, credentialsRef } = spec;
  const requireKey = (key: string): SecretString => {
    const value = secrets[key];
    if (value?.reveal()) return value;
    throw credentialsMissing(`Secret ${credentialsRef.name} has no key ${key}. Add it.`);
  };
  const access: StorageAccess = {
    endpoint,
    bucket,
    region,
    caBundle,
    credentials: credentialsRef.name,
    accessKeyId: requireKey('accessKeyId'),
    secretAccessKey: requireKey('secretAccessKey'),
  };
  return new BackupStorage(access, context);
}

export const credentialsMissing = (detail: string): ProviderError =>
  new ProviderError('CREDENTIALS_MISSING', `spec.backup.s3.credentialsRef: ${detail}`);
