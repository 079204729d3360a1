import type { Machine } from '../../api/machine.ts';
import type { Facts, Owner } from '../../engine/platform.ts';
import type { KeySource } from '../../kube/controller/controller.ts';
import { ProviderError } from '../../lib/errors.ts';
import { LocationObserver, type MachineLocation, type MonitorServices } from './location-observer.ts';

/** With an answer that is shared for a while, less than a minute in all. */
const observeAllSeconds = 40;
/** Its multiples fall evenly between 0 and 1, however many there are. */
const goldenSection = (Math.sqrt(5) - 1) / 2;

/** A machine at rest, and all that it was judged by when it was found so. */
interface WatchedMachine extends MachineLocation {
  readonly owner: Owner;
  readonly trace: string;
  /** As they stand in the store at the time of the last look: of thousands at rest they are not kept twice. */
  facts: Facts;
}

const noFacts: Facts = {};

/** For as long as somebody listens. */
interface MonitorRun {
  wake(machine: WatchedMachine): void;
  /** The places that are looked at again and again. */
  readonly attended: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Keeps watch over machines at rest. All of a place are seen with one look, so that a thousand of them cost no more than one; the
 * one about which something has changed is woken, and looked at on its own. Where a place tells of changes it is looked at then,
 * and after a while in any case.
 */
export class MachineMonitor {
  readonly #room: MonitorServices;
  readonly #lookout: LocationObserver;
  /** By where they are, and there by name. */
  readonly #kept = new Map<string, Map<string, WatchedMachine>>();
  /** How to stop listening, by place. */
  readonly #ears = new Map<string, () => void>();
  /** How many places were attended to so far. */
  #count = 0;
  #attend: ((at: string) => void) | undefined;

  constructor(room: MonitorServices) {
    this.#room = room;
    this.#lookout = new LocationObserver(room);
  }

  /** It is woken from now on when something else is seen of it than `trace`. False: nobody can see it so. */
  keep(machine: Machine, trace: string): boolean {
    const { name } = machine.metadata;
    const { platform, site, providerConfigRef } = machine.spec;
    const { installation, provider } = this.#room;
    const owner = { installation, provider, machine: name };
    const kept: WatchedMachine = { owner, config: providerConfigRef.name, platform, site, trace, facts: noFacts };
    if (!this.#lookout.sees(kept)) return false;
    this.release(name);
    const at = [platform, kept.config, site].join('/');
    const others = this.#kept.get(at);
    if (others) others.set(name, kept);
    else this.#kept.set(at, new Map([[name, kept]]));
    this.#attend?.(at);
    return true;
  }

  /** It is looked at by others, or is gone. */
  release(machine: string): void {
    for (const [at, those] of this.#kept) if (those.delete(machine) && those.size === 0) this.#kept.delete(at);
  }

  /** Hands on the names of those that are to be looked at, for as long as somebody listens. */
  get source(): KeySource {
    return {
      synced: Promise.resolve(),
      subscribe: (enqueue) => {
        const over = new AbortController();
        const wake = ({ owner }: WatchedMachine): void => enqueue({ name: owner.machine }, 'patient');
        const turn: MonitorRun = { wake, attended: new Set(), signal: over.signal };
        this.#attend = (at) => {
          if (turn.attended.has(at)) return;
          turn.attended.add(at);
          void this.#watch(at, turn);
        };
        for (const at of this.#kept.keys()) this.#attend(at);
        return () => {
          this.#attend = undefined;
          over.abort();
          for (const at of this.#ears.keys()) this.#hearken(at, undefined);
        };
      },
    };
  }

  /** For as long as somebody listens, and somebody is at rest there. */
  async #watch(at: string, turn: MonitorRun): Promise<void> {
    const { attended, signal } = turn;
    const look = () => this.#look(at, turn);
    // What changes before the first look is told, too.
    this.#hearken(at, () => void look());
    // Each at its own time: the answers of all at once would be a heap to be cleared away, again and again.
    await this.#pause(observeAllSeconds * (1 - ((this.#count++ * goldenSection) % 1)), signal);
    while (!signal.aborted && this.#kept.has(at)) {
      await look();
      if (!signal.aborted) this.#hearken(at, () => void look());
      await this.#pause(observeAllSeconds, signal);
    }
    // In the same moment in which none was left: whoever comes next has the place attended to again.
    attended.delete(at);
    if (!signal.aborted) this.#hearken(at, undefined);
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // Rejects only when nobody listens any more.
    await this.#room.clock.sleep(seconds * 1000, signal).catch(() => {});
  }

  /** Another configuration is another ear: each time anew. Nobody listens without `look`, or where none is left. */
  #hearken(at: string, look: (() => void) | undefined): void {
    const former = this.#ears.get(at);
    const [one] = this.#kept.get(at)?.values() ?? [];
    const stop = one && look && this.#lookout.listen(one, look);
    if (stop) this.#ears.set(at, stop);
    else this.#ears.delete(at);
    // Only now: nothing is missed in between.
    former?.();
  }

  async #look(at: string, { wake, signal }: MonitorRun): Promise<void> {
    try {
      const kept = [...(this.#kept.get(at)?.values() ?? [])];
      for (const one of await this.#changedOf(kept, signal)) {
        const { machine } = one.owner;
        // Others may have looked at it meanwhile.
        if (this.#kept.get(at)?.get(machine) !== one) continue;
        this.release(machine);
        wake(one);
      }
    } catch (error) {
      // A process that ends closes its connections before it says that it is over.
      const isEnd = signal.aborted || error instanceof DOMException;
      if (!isEnd) this.#room.log.error({ err: error }, 'a glance failed by a fault of ours');
    }
  }

  /** All of them where nobody can look: each says for itself why. */
  async #changedOf(all: readonly WatchedMachine[], signal: AbortSignal): Promise<readonly WatchedMachine[]> {
    try {
      for (const one of all) one.facts = this.#factsOf(one);
      const traces = await this.#lookout.glance(all, signal);
      return all.filter((one, index) => traces?.[index] !== one.trace);
    } catch (error) {
      if (error instanceof ProviderError) return all;
      throw error;
    }
  }

  #factsOf({ owner }: WatchedMachine): Facts {
    const machine = this.#room.stores.machines.get({ name: owner.machine });
    // Written by us alone.
    return (machine?.status?.progress?.facts as Facts | undefined) ?? noFacts;
  }
}
