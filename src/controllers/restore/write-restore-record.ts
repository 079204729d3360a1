import { annotations } from '../../api/names.ts';
import { Secret } from '../../kube/core-types.ts';
import { formatRestoreRecord, type RestoreRecord } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';

/**
 * Writes the progress of a restore to the Secret of its cluster, or removes it. Fails if the Secret has changed: a process that does not
 * lead any more writes nothing.
 */
export async function writeRestoreRecord(
  { kube }: Pick<Services, 'kube'>,
  { metadata: { namespace, name, resourceVersion } }: Secret,
  record: RestoreRecord | undefined,
  signal: AbortSignal,
): Promise<void> {
  const value = record ? formatRestoreRecord(record) : null;
  const patch = { metadata: { annotations: { [annotations.restoreProgress]: value } } };
  await kube.merge(Secret, { namespace, name }, patch, resourceVersion ? { resourceVersion } : {}, signal);
}
