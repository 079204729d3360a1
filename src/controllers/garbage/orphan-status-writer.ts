import { annotations } from '../../api/names.ts';
import type { OrphanEntry } from '../../api/orphan-entry.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { patchStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { selectListedOrphans } from './orphan-entries.ts';

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
    const before = this.config.status ?? { observedGeneration: 0, phase: '' };
    const status = { ...before, orphans: selectListedOrphans(entries), orphanCount: entries.length };
    const written = await patchStatus(this.#kube, ProviderConfig, this.config, status, this.#signal, { locked: true });
    this.config = written ?? this.config;
  }

  /** Removes the annotation after its removals have begun or were rejected. */
  async remove(): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.removeOrphans]: null } } };
    const { resourceVersion } = this.config.metadata;
    const lock = resourceVersion ? { resourceVersion } : {};
    this.config = await this.#kube.merge(ProviderConfig, objectKeyOf(this.config), patch, lock, this.#signal);
  }
}
