import type { BackupStorageSpec } from '../../api/schema/backup-schema.ts';
import { BackupStorage, type StorageAccess } from '../../backup/backup-storage.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';

/** The bucket of a ProviderConfig, with the keys of the Secret that it names. Close it after use. */
export function openStorage(
  spec: BackupStorageSpec,
  secrets: SecretStrings,
  context: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
): BackupStorage {
  const { endpoint, bucket, region, caBundle, credentialsRef } = spec;
  const { accessKeyId, secretAccessKey } = secrets;
  for (const [key, value] of Object.entries({ accessKeyId, secretAccessKey }))
    if (!value?.reveal()) throw credentialsMissing(`Secret ${credentialsRef.name} has no key ${key}. Add it.`);
  if (!accessKeyId || !secretAccessKey) throw credentialsMissing('The keys are missing.');
  const access: StorageAccess = {
    endpoint,
    bucket,
    region,
    caBundle,
    credentials: credentialsRef.name,
    accessKeyId,
    secretAccessKey,
  };
  return new BackupStorage(access, context);
}

export const credentialsMissing = (detail: string): ProviderError =>
  new ProviderError('CREDENTIALS_MISSING', `spec.backup.s3.credentialsRef: ${detail}`);
