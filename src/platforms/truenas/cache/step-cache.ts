import type { Step, StepOutcome } from '../../../engine/step.ts';
import type { Clock } from '../../../lib/clock.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import type { Dataset, FileStat, Vm } from '../api/schema.ts';
import { vmIdentityOf } from '../resources/identity.ts';
import type { TrueNasRemovalContext } from '../resources/machine-scope.ts';

/** Maximum age of an answer for the following steps: on a busy system a single call takes this long. */
const maxAgeSeconds = 60;

interface CacheEntry<Thing> {
  readonly found: Thing | undefined;
  readonly until: number;
  /** True for a dataset that this walk created, so that it is known to be empty. */
  readonly isNew?: boolean;
}

/**
 * A stop of the machine that this walk requested: the id of its job, and when to poll, by the monotonic clock, if no
 * event arrives.
 */
interface PendingStop {
  readonly job: number;
  readonly observeAt: number;
}

/**
 * Answers that a walk received about objects it read or created, so that its next step need not ask again. An entry
 * with `found` undefined: the object does not exist. All entries expire when another client changes something, as far
 * as the system reports it, and with the connection.
 */
export class StepCache {
  readonly #clock: Clock;
  readonly #quietSince: () => number;
  readonly #datasets = new Map<string, CacheEntry<Dataset>>();
  readonly #files = new Map<string, CacheEntry<FileStat>>();
  #vm: CacheEntry<Vm> | undefined;
  #vmTakenUntil: number | undefined;
  #until = 0;
  stop: PendingStop | undefined;

  constructor(clock: Clock, quietSince = () => Number.NEGATIVE_INFINITY) {
    this.#clock = clock;
    this.#quietSince = quietSince;
  }

  /** Begins a step. Entries are dated from its begin. */
  begin(): void {
    this.#until = this.#clock.monotonic() + maxAgeSeconds * 1000;
    this.#vmTakenUntil = undefined;
  }

  get isStale(): boolean {
    return this.#clock.monotonic() >= this.#until;
  }

  noteDataset(id: string, found: Dataset | undefined): void {
    this.#datasets.set(id, { found, until: this.#until });
  }

  /** A dataset that did not exist before, so that it is known to be empty. */
  noteNewDataset(id: string, made: Dataset): void {
    this.#datasets.set(id, { found: made, until: this.#until, isNew: true });
  }

  forgetDataset(id: string): void {
    this.#datasets.delete(id);
  }

  /** Undefined: nothing is known of the dataset. */
  dataset(id: string): Pick<CacheEntry<Dataset>, 'found'> | undefined {
    const own = this.#ifFresh(this.#datasets.get(id));
    if (own) return own;
    const above = this.#ifFresh(this.#datasets.get(id.slice(0, id.lastIndexOf('/'))));
    return above && (above.isNew || !above.found) ? { found: undefined } : undefined;
  }

  noteFile(path: string, found: FileStat): void {
    this.#files.set(path, { found, until: this.#until });
  }

  file(path: string): FileStat | undefined {
    return this.#ifFresh(this.#files.get(path))?.found;
  }

  /** The machine's own VM. */
  noteVm(found: Vm | undefined): void {
    this.#vm = { found, until: this.#until };
  }

  /** Takes the VM out of the cache for a step that may change it. */
  takeVm(): Pick<CacheEntry<Vm>, 'found'> | undefined {
    const noted = this.#ifFresh(this.#vm);
    this.#vm = undefined;
    this.#vmTakenUntil = noted?.until;
    return noted;
  }

  /** Puts the VM back, updated by the answers of this step. It keeps its former age. */
  returnVm(found: Vm): void {
    this.#vm = { found, until: this.#vmTakenUntil ?? this.#until };
  }

  #ifFresh<Thing>(noted: CacheEntry<Thing> | undefined): CacheEntry<Thing> | undefined {
    if (!noted || this.#clock.monotonic() >= noted.until) return undefined;
    return noted.until - maxAgeSeconds * 1000 > this.#quietSince() ? noted : undefined;
  }
}

/** Caches between two steps on one connection, by the UUID of the machine. */
class StepCaches {
  readonly #abandoned = new Map<string, StepCache>();
  static readonly #known = new WeakMap<TrueNasClient, StepCaches>();

  static of(nas: TrueNasClient): StepCaches {
    const known = StepCaches.#known.get(nas) ?? new StepCaches();
    StepCaches.#known.set(nas, known);
    return known;
  }

  release(uuid: string, cache: StepCache): void {
    for (const [other, { isStale }] of this.#abandoned) if (isStale) this.#abandoned.delete(other);
    this.#abandoned.set(uuid, cache);
  }

  /** Removes the entry: a cache is used once. */
  acquire(uuid: string): StepCache | undefined {
    const left = this.#abandoned.get(uuid);
    this.#abandoned.delete(uuid);
    return left;
  }
}

/**
 * Passes the cache of the previous step to this one, and on to the next. A step that fails or waits passes nothing on,
 * and nothing survives the process: later steps read again.
 */
export const passStepCache = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> => withStepCache(step, ['done']);

/** Passes the cache on also when the step waits, so that it is kept for the step itself. */
export const passStepCacheAlsoWhileWaiting = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> =>
  withStepCache(step, ['done', 'wait']);

/** For the last step of a chain: a later walk reads again, since the machine may have been deleted or created again. */
export const consumeStepCache = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> => withStepCache(step, []);

function withStepCache<C extends TrueNasRemovalContext>(
  step: Step<C>,
  actions: readonly StepOutcome['kind'][],
): Step<C> {
  const run = async (context: C): Promise<StepOutcome> => {
    const nas = connectTrueNas(context);
    const handovers = StepCaches.of(nas);
    const { uuid } = vmIdentityOf(context);
    const cache = handovers.acquire(uuid) ?? new StepCache(context.clock, () => nas.quietSince);
    cache.begin();
    const outcome = await step.run({ ...context, cache });
    if (actions.includes(outcome.kind)) handovers.release(uuid, cache);
    return outcome;
  };
  return { ...step, run };
}
