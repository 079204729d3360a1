import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { ProviderError } from '../../lib/errors.ts';

/** What a user asks for with the annotations of a Cluster. */
export interface RestoreRequest {
  /** Key of a snapshot. */
  readonly key: string;
  /** Name of a Secret in the provider's own namespace. */
  readonly identity: string;
}

/** Of names of Kubernetes. */
const namePattern = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined: none is asked for. */
export function readRestoreRequest({ metadata }: Cluster): RestoreRequest | ProviderError | undefined {
  const key = metadata.annotations?.[annotations.restore];
  if (key === undefined) return undefined;
  const identity = metadata.annotations?.[annotations.restoreIdentity] ?? '';
  if (namePattern.test(identity)) return { key, identity };
  return new ProviderError(
    'CONFIG_INVALID',
    `metadata.annotations[${annotations.restoreIdentity}]: name the Secret whose key identity decrypts the backup.`,
  );
}
