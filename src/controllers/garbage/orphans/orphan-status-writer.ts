import { annotations } from '../../../api/names.ts';
import type { OrphanEntry, OrphanSearch } from '../../../api/orphan-entry.ts';
import { ProviderConfig } from '../../../api/provider-config.ts';
import { objectKeyOf } from '../../../kube/resource.ts';
import { patchStatus, patchStatusIfExists } from '../../shared/objects.ts';
import type { Services } from '../../shared/services.ts';
import { recordWrite } from '../../shared/status-writes.ts';
import { type ListedOrphans, selectListedOrphans } from './orphan-entries.ts';

/** The status before its first write. */
const noStatus: NonNullable<ProviderConfig['status']> = { observedGeneration: 0, phase: '' };

/**
 * Writes the orphans of a ProviderConfig and keeps the object in memory current. Every write throws a conflict if the
 * object has changed since it was read.
 */
export class OrphanStatusWriter {
  readonly #kube: Services['kube'];
  readonly #signal: AbortSignal;
  config: ProviderConfig;

  constructor({ kube }: Pick<Services, 'kube'>, config: ProviderConfig, signal: AbortSignal) {
    this.#kube = kube;
    this.#signal = signal;
    this.config = config;
  }

  async write(entries: readonly OrphanEntry[]): Promise<void> {
    const orphans = { orphans: selectListedOrphans(entries), orphanCount: entries.length };
    const status = { ...noStatus, ...this.config.status, ...orphans };
    const written = await patchStatus(this.#kube, ProviderConfig, this.config, status, this.#signal, { locked: true });
    this.config = written ?? this.config;
  }

  /** Writes the result of a scan. */
  async report(listed: ListedOrphans, orphanSearch: OrphanSearch): Promise<void> {
    const { orphans: _, orphanCount: __, ...rest } = { ...noStatus, ...this.config.status };
    const status = { ...rest, ...listed, orphanSearch };
    await patchStatusIfExists(this.#kube, ProviderConfig, this.config, status, this.#signal, { locked: true });
  }

  /** Removes the annotation after its removals have begun or were rejected. */
  async remove(): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.removeOrphans]: null } } };
    const { resourceVersion } = this.config.metadata;
    const lock = resourceVersion ? { resourceVersion } : {};
    this.config = await recordWrite(this.#kube, ProviderConfig, this.config, () =>
      this.#kube.merge(ProviderConfig, objectKeyOf(this.config), patch, lock, this.#signal),
    );
  }
}
