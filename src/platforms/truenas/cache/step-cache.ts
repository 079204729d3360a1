import type { Step, StepOutcome } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import type { Dataset, FileStat, Vm } from '../api/schema.ts';
import { vmIdentityOf } from '../resources/identity.ts';
import type { TrueNasRemovalContext } from '../resources/machine-scope.ts';

/** So long an answer counts as a look for the steps that follow without a pause: a busy system takes as long for a single call. */
const maxAgeSeconds = 60;

interface CacheEntry<Thing> {
  readonly found: Thing | undefined;
  readonly until: number;
  /** Of a dataset: we have made it ourselves, so nothing lies in it. */
  readonly isNew?: boolean;
}

/** A stop of the machine that the walk has asked for: the number of its job, and when to look by the monotonic clock if nothing is heard of it. */
interface PendingStop {
  readonly job: number;
  readonly lookAt: number;
}

/**
 * What a walk was answered a moment ago, of what it looked at and of what it made, so that its next step need not ask again. Found as
 * undefined: it was looked for, and there was none. All of it ends when somebody else changes something, as far as the system tells,
 * and with the connection.
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

  /** A step begins. What it notes is at least as young. */
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

  /** One that did not exist before: with it, it is known that nothing lies in it. */
  noteNewDataset(id: string, made: Dataset): void {
    this.#datasets.set(id, { found: made, until: this.#until, isNew: true });
  }

  forgetDataset(id: string): void {
    this.#datasets.delete(id);
  }

  /** Undefined when nothing is known of it. */
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

  /** The machine's own. */
  noteVm(found: Vm | undefined): void {
    this.#vm = { found, until: this.#until };
  }

  /** The same, for one step alone: it may change it. */
  takeVm(): Pick<CacheEntry<Vm>, 'found'> | undefined {
    const noted = this.#ifFresh(this.#vm);
    this.#vm = undefined;
    this.#vmTakenUntil = noted?.until;
    return noted;
  }

  /** Gives it back as it is by what the step was answered since. What was taken gets no younger by that. */
  giveVmBack(found: Vm): void {
    this.#vm = { found, until: this.#vmTakenUntil ?? this.#until };
  }

  #ifFresh<Thing>(noted: CacheEntry<Thing> | undefined): CacheEntry<Thing> | undefined {
    if (!noted || this.#clock.monotonic() >= noted.until) return undefined;
    return noted.until - maxAgeSeconds * 1000 > this.#quietSince() ? noted : undefined;
  }
}

/** What waits to be taken over on one connection, by the UUIDs of the machines. */
class StepCaches {
  readonly #left = new Map<string, StepCache>();
  static readonly #known = new WeakMap<TrueNasClient, StepCaches>();

  static of(nas: TrueNasClient): StepCaches {
    const known = StepCaches.#known.get(nas) ?? new StepCaches();
    StepCaches.#known.set(nas, known);
    return known;
  }

  leave(uuid: string, handover: StepCache): void {
    for (const [other, { isStale }] of this.#left) if (isStale) this.#left.delete(other);
    this.#left.set(uuid, handover);
  }

  /** It is had once. */
  take(uuid: string): StepCache | undefined {
    const left = this.#left.get(uuid);
    this.#left.delete(uuid);
    return left;
  }
}

/**
 * A step that takes over what the one before it was answered, and hands on what it was. One that fails or waits hands on nothing, and
 * nothing outlives the process: whoever goes on after that looks anew.
 */
export const passStepCache = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> => withStepCache(step, ['done']);

/** The same, and while it waits for what it has begun it hands it on to itself. */
export const passStepCacheAlsoWhileWaiting = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> =>
  withStepCache(step, ['done', 'wait']);

/** The last one: whoever walks again looks anew, since the machine may have gone meanwhile, or be made once more. */
export const consumeStepCache = <C extends TrueNasRemovalContext>(step: Step<C>): Step<C> => withStepCache(step, []);

function withStepCache<C extends TrueNasRemovalContext>(step: Step<C>, hands: readonly StepOutcome['kind'][]): Step<C> {
  const run = async (context: C): Promise<StepOutcome> => {
    const nas = connectTrueNas(context);
    const handovers = StepCaches.of(nas);
    const { uuid } = vmIdentityOf(context);
    const handover = handovers.take(uuid) ?? new StepCache(context.clock, () => nas.quietSince);
    handover.begin();
    const outcome = await step.run({ ...context, handover });
    if (hands.includes(outcome.kind)) handovers.leave(uuid, handover);
    return outcome;
  };
  return { ...step, run };
}
