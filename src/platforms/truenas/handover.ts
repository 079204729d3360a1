import type { Outcome, Step } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { connect, type TrueNas } from './client.ts';
import { identityOf } from './identity.ts';
import type { Dataset, FileStat, Vm } from './schema.ts';
import type { Removal } from './system.ts';

/** So long an answer counts as a look for the steps that follow without a pause: a busy system takes as long for a single call. */
const momentSeconds = 60;

interface Noted<Thing> {
  readonly found: Thing | undefined;
  readonly until: number;
  /** Of a dataset: we have made it ourselves, so nothing lies in it. */
  readonly isNew?: boolean;
}

/** A stop of the machine that the walk has asked for: the number of its job, and when to look by the monotonic clock if nothing is heard of it. */
interface Stop {
  readonly job: number;
  readonly lookAt: number;
}

/**
 * What a walk was answered a moment ago, of what it looked at and of what it made, so that its next step need not ask again. Found as
 * undefined: it was looked for, and there was none. All of it ends when somebody else changes something, as far as the system tells,
 * and with the connection.
 */
export class Handover {
  readonly #clock: Clock;
  readonly #quietSince: () => number;
  readonly #datasets = new Map<string, Noted<Dataset>>();
  readonly #files = new Map<string, Noted<FileStat>>();
  #vm: Noted<Vm> | undefined;
  #vmTakenUntil: number | undefined;
  #until = 0;
  stop: Stop | undefined;

  constructor(clock: Clock, quietSince = () => Number.NEGATIVE_INFINITY) {
    this.#clock = clock;
    this.#quietSince = quietSince;
  }

  /** A step begins. What it notes is at least as young. */
  begin(): void {
    this.#until = this.#clock.monotonic() + momentSeconds * 1000;
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
  dataset(id: string): Pick<Noted<Dataset>, 'found'> | undefined {
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
  takeVm(): Pick<Noted<Vm>, 'found'> | undefined {
    const noted = this.#ifFresh(this.#vm);
    this.#vm = undefined;
    this.#vmTakenUntil = noted?.until;
    return noted;
  }

  /** Gives it back as it is by what the step was answered since. What was taken gets no younger by that. */
  giveVmBack(found: Vm): void {
    this.#vm = { found, until: this.#vmTakenUntil ?? this.#until };
  }

  #ifFresh<Thing>(noted: Noted<Thing> | undefined): Noted<Thing> | undefined {
    if (!noted || this.#clock.monotonic() >= noted.until) return undefined;
    return noted.until - momentSeconds * 1000 > this.#quietSince() ? noted : undefined;
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
export const handingOver = <C extends Removal>(step: Step<C>): Step<C> => withHandover(step, ['done']);

/** The same, and while it waits for what it has begun it hands it on to itself. */
export const keepingAndHandingOver = <C extends Removal>(step: Step<C>): Step<C> =>
  withHandover(step, ['done', 'wait']);

/** The last one: whoever walks again looks anew, since the machine may have gone meanwhile, or be made once more. */
export const takingOver = <C extends Removal>(step: Step<C>): Step<C> => withHandover(step, []);

function withHandover<C extends Removal>(step: Step<C>, hands: readonly Outcome['kind'][]): Step<C> {
  const run = async (context: C): Promise<Outcome> => {
    const nas = connect(context);
    const handovers = Handovers.of(nas);
    const { uuid } = identityOf(context);
    const handover = handovers.take(uuid) ?? new Handover(context.clock, () => nas.quietSince);
    handover.begin();
    const outcome = await step.run({ ...context, handover });
    if (hands.includes(outcome.kind)) handovers.leave(uuid, handover);
    return outcome;
  };
  return { ...step, run };
}
