import { isConditionTrue } from '../../../api/conditions.ts';
import type { Machine } from '../../../api/machine.ts';
import type { Clock } from '../../../lib/clock.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import type { ComparedNode, FormerComparison } from '../../../talos/update/compare-node.ts';
import type { Services } from '../../shared/services.ts';

/** Maximum number of Machines. An evicted one is compared again, which costs little. */
const maxMachines = 10_000;

/** A node that was compared this short a time ago and is a member has not restarted since. */
const sameBootSeconds = 60;

interface ComparedMachine {
  readonly node: ComparedNode;
  /** When the node has named its boot, in monotonic milliseconds. */
  readonly at: number;
}

/** What this process has found when it compared Machines with their desired configuration. */
export class ComparedMachines {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Hash of the inputs of the desired configuration, of Machines that were up to date. */
  readonly #inputs = new LruMap<string, string>(maxMachines);
  readonly #nodes = new LruMap<string, ComparedMachine>(maxMachines);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isUpToDate({ metadata, status }: Machine, inputs: string): boolean {
    return this.#inputs.get(metadata.uid ?? '') === inputs && isConditionTrue(status?.conditions, 'UpToDate');
  }

  recordUpToDate({ metadata }: Machine, inputs: string): void {
    this.#inputs.set(metadata.uid ?? '', inputs);
  }

  former({ metadata }: Machine): FormerComparison | undefined {
    const found = this.#nodes.get(metadata.uid ?? '');
    return found && { ...found.node, isSameBoot: this.#isRecent(found) };
  }

  record({ metadata }: Machine, node: ComparedNode): void {
    const before = this.#nodes.get(metadata.uid ?? '');
    const at = before && this.#isRecent(before) ? before.at : this.#clock.monotonic();
    this.#nodes.set(metadata.uid ?? '', { node, at });
  }

  /** Its node was missed or restarts, and may come back as another: with a former system, for example. */
  forget({ metadata }: Machine): void {
    this.#inputs.delete(metadata.uid ?? '');
    this.#nodes.delete(metadata.uid ?? '');
  }

  close(): void {}

  /** The node was not asked for its boot then. */
  #isRecent({ at }: ComparedMachine): boolean {
    return this.#clock.monotonic() - at < sameBootSeconds * 1000;
  }
}

export const comparedMachinesOf = ({ connections, clock }: Pick<Services, 'connections' | 'clock'>): ComparedMachines =>
  connections.get('compared-machines', () => new ComparedMachines(clock));
