import type { Cluster } from '../../api/openmcp/types.ts';
import type { BackupSpec } from '../../api/schema/backup-schema.ts';
import { ProviderError } from '../../lib/errors.ts';
import { credentialsMissing, openStorage } from '../backup/open-storage.ts';
import { findProviderConfig } from '../cluster/view.ts';
import { decodeSecretData } from '../shared/secrets/platform-credentials.ts';
import type { Services } from '../shared/services.ts';
import { checkBackup } from '../shared/spec/check-backup.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import type { RestoreRequest } from './restore-request.ts';
import { type BackupSource, readIdentities } from './verify-backup.ts';

/** Opens the bucket for the work. Throws a ProviderError that names the field of what is missing. */
export async function withBackupSource<T>(
  services: Services,
  cluster: Cluster,
  { key, identity }: RestoreRequest,
  signal: AbortSignal,
  work: (source: BackupSource) => Promise<T>,
): Promise<T> {
  const { stores, namespace, clock } = services;
  const { s3 } = requireBackupSpec(services, cluster);
  const find = (name: string) => stores.secrets.get({ namespace, name });
  const credentials = find(s3.credentialsRef.name);
  if (!credentials)
    throw credentialsMissing(`there is no Secret ${s3.credentialsRef.name} in namespace ${namespace}. Create it.`);
  const identities = readIdentities(identity, find(identity));
  const storage = openStorage(s3, decodeSecretData(credentials), { clock, signal });
  try {
    return await work({ storage, prefix: s3.prefix, key, identityName: identity, identities });
  } finally {
    await storage.close();
  }
}

function requireBackupSpec(services: Services, cluster: Cluster): BackupSpec {
  const config = findProviderConfig(services, cluster);
  const parsed = config && parseSpec(config);
  if (!parsed?.success || !parsed.data.backup || checkBackup(parsed.data).length > 0)
    throw new ProviderError(
      'CONFIG_INVALID',
      `spec.backup: ProviderConfig ${config?.metadata.name ?? `behind ${cluster.spec.profile}`} does not say where backups are stored, or is not valid. Correct it.`,
    );
  return parsed.data.backup;
}
