import type { Outcome, Step } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { connect, type TrueNas } from './client.ts';
import { identityOf } from './identity.ts';
import type { Dataset, Vm } from './schema.ts';
import type { Removal } from './system.ts';

/** So long an answer counts as a look for the steps that follow without a pause: a busy system takes as long for a single call. */
const momentSeconds = 60;

interface Noted<Thing> {
  readonly found: Thing | undefined;
  readonly until: number;
}

/**
 * What a walk was answered a moment ago, of what it looked at and of what it made, so that its next step need not ask again. Found as
 * undefined: it was looked for, and there was none.
 */
export class Handover {
  readonly #clock: Clock;
  readonly #datasets = new Map<string, Noted<Dataset>>();
  #vm: Noted<Vm> | undefined;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A step begins. What it notes is at least as young. */
  begin(): void {
    this.#until = this.#clock.monotonic() + momentSeconds * 1000;
  }

  get isStale(): boolean {
    return this.#clock.monotonic() >= this.#until;
  }

  noteDataset(id: string, found: Dataset | undefined): void {
    this.#datasets.set(id, { found, until: this.#until });
  }

  forgetDataset(id: string): void {
    this.#datasets.delete(id);
  }

  /** Undefined when nothing is known of it. */
  dataset(id: string): Pick<Noted<Dataset>, 'found'> | undefined {
    return this.#ifFresh(this.#datasets.get(id));
  }

  /** The machine's own. */
  noteVm(found: Vm | undefined): void {
    this.#vm = { found, until: this.#until };
  }

  /** The same, for one step alone: it may change it. */
  takeVm(): Pick<Noted<Vm>, 'found'> | undefined {
    const noted = this.#vm;
    this.#vm = undefined;
    return this.#ifFresh(noted);
  }

  #ifFresh<Thing>(noted: Noted<Thing> | undefined): Noted<Thing> | undefined {
    return noted && this.#clock.monotonic() < noted.until ? noted : undefined;
  }
}

/** What waits to be taken over on one connection, by the UUIDs of the machines. */
class Handovers {
  readonly #left = new Map<string, Handover>();
  static readonly #known = new WeakMap<TrueNas, Handovers>();

  static of(nas: TrueNas): Handovers {
    const known = Handovers.#known.get(nas) ?? new Handovers();
    Handovers.#known.set(nas, known);
    return known;
  }

  leave(uuid: string, handover: Handover): void {
    for (const [other, { isStale }] of this.#left) if (isStale) this.#left.delete(other);
    this.#left.set(uuid, handover);
  }

  /** It is had once. */
  take(uuid: string): Handover | undefined {
    const left = this.#left.get(uuid);
    this.#left.delete(uuid);
    return left;
  }
}

/**
 * A step that takes over what the one before it was answered, and hands on what it was. One that fails or waits hands on nothing, and
 * nothing outlives the process: whoever goes on after that looks anew.
 */
export const handingOver = <C extends Removal>(step: Step<C>): Step<C> => withHandover(step, true);

/** The last one: whoever walks again looks anew, since the machine may have gone meanwhile, or be made once more. */
export const takingOver = <C extends Removal>(step: Step<C>): Step<C> => withHandover(step, false);

function withHandover<C extends Removal>(step: Step<C>, hands: boolean): Step<C> {
  const run = async (context: C): Promise<Outcome> => {
    const handovers = Handovers.of(connect(context));
    const { uuid } = identityOf(context);
    const handover = handovers.take(uuid) ?? new Handover(context.clock);
    handover.begin();
    const outcome = await step.run({ ...context, handover });
    if (hands && outcome.kind === 'done') handovers.leave(uuid, handover);
    return outcome;
  };
  return { ...step, run };
}
