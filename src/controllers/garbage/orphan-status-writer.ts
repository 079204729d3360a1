import { annotations } from '../../api/names.ts';
import type { OrphanEntry } from '../../api/orphan-entry.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import { objectKeyOf } from '../../kube/resource.ts';
import { patchStatus } from '../shared/objects.ts';
import type { Services } from '../shared/services.ts';
import { selectListedOrphans } from './orphan-entries.ts';

/** The ProviderConfig in hand, kept in step with what is written to it. Whatever is written throws a conflict when somebody else wrote since. */
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

  /** Takes off the annotation that asked for what has begun, or was refused. */
  async strike(): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.removeOrphans]: null } } };
    const { resourceVersion } = this.config.metadata;
    const lock = resourceVersion ? { resourceVersion } : {};
    this.config = await this.#kube.merge(ProviderConfig, objectKeyOf(this.config), patch, lock, this.#signal);
  }
}
