import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import type { Services } from '../../shared/services.ts';

/** Maximum number of Machines. An evicted one is compared again, which costs little. */
const maxMachines = 10_000;

/** The Machines that this process has found up to date, with the inputs of their desired configuration. */
export class UpToDateMachines {
  readonly #inputs = new LruMap<string, string>(maxMachines);

  has({ metadata, status }: Machine, inputs: string): boolean {
    return this.#inputs.get(metadata.uid ?? '') === inputs && isConditionTrue(status?.conditions, 'UpToDate');
  }

  add({ metadata }: Machine, inputs: string): void {
    this.#inputs.set(metadata.uid ?? '', inputs);
  }

  /** Its node was missed, and may have come back as another: with a former system, for example. */
  forget({ metadata }: Machine): void {
    this.#inputs.delete(metadata.uid ?? '');
  }

  close(): void {}
}

export const upToDateMachinesOf = ({ connections }: Pick<Services, 'connections'>): UpToDateMachines =>
  connections.get('up-to-date-machines', () => new UpToDateMachines());
