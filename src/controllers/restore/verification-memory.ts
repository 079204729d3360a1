import type { Cluster } from '../../api/openmcp/types.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { RestoreRequest } from './restore-request.ts';
import type { VerifiedBackup } from './verify-backup.ts';

/** More than the restores that wait for an approval at the same time. */
const maxRemembered = 100;

/** A request, with the version of the Secret that it names: another identity may not open the backup. */
export type VerifiedRequest = RestoreRequest & { readonly identityVersion: string };

/** The backups that this process has verified, by Cluster. A later process verifies them again. */
export class VerificationMemory {
  readonly #known = new LruMap<string, { readonly request: string; readonly backup: VerifiedBackup }>(maxRemembered);

  find({ metadata }: Cluster, request: VerifiedRequest): VerifiedBackup | undefined {
    const known = this.#known.get(metadata.uid ?? '');
    return known?.request === JSON.stringify(request) ? known.backup : undefined;
  }

  remember({ metadata }: Cluster, request: VerifiedRequest, backup: VerifiedBackup): void {
    this.#known.set(metadata.uid ?? '', { request: JSON.stringify(request), backup });
  }
}
