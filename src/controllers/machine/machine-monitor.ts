import type { Machine } from '../../api/machine.ts';
import type { Owner } from '../../engine/node.ts';
import type { Facts } from '../../engine/step.ts';
import type { KeySource } from '../../kube/controller/controller.ts';
import { ProviderError } from '../../lib/errors.ts';
import { LocationObserver, type MachineLocation, type MonitorServices } from './location-observer.ts';

/** Together with the cached answer of a platform, a change is seen in less than a minute. */
const observeAllSeconds = 40;
/** Its multiples spread evenly between 0 and 1 for any number of locations. */
const goldenSection = (Math.sqrt(5) - 1) / 2;

/** An idle Machine and the fingerprint of its last observation. */
interface WatchedMachine extends MachineLocation {
  readonly owner: Owner;
  readonly trace: string;
  /**
   * The facts in the store at the last observation. They are references, so that thousands of idle Machines cost no
   * copies.
   */
  facts: Facts;
}

const noFacts: Facts = {};

/** Lives as long as a queue is subscribed. */
interface MonitorRun {
  wake(machine: WatchedMachine): void;
  /** The locations that have an observation loop. */
  readonly attended: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Observes idle Machines. One request covers all Machines of a location (ProviderConfig and failure domain), so that a
 * thousand cost no more than one. A Machine with a changed fingerprint is enqueued and reconciled on its own. If a
 * location publishes changes, a change triggers the observation; the interval applies in any case.
 */
export class MachineMonitor {
  readonly #room: MonitorServices;
  readonly #lookout: LocationObserver;
  /** By location, then by Machine name. */
  readonly #kept = new Map<string, Map<string, WatchedMachine>>();
  /** Unsubscribe functions by location. */
  readonly #ears = new Map<string, () => void>();
  /** Number of observation loops started so far. */
  #count = 0;
  #attend: ((at: string) => void) | undefined;

  constructor(room: MonitorServices) {
    this.#room = room;
    this.#lookout = new LocationObserver(room);
  }

  /**
   * Enqueues the Machine once its fingerprint differs from `trace`. False: its platform cannot observe all Machines at
   * once.
   */
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

  /** Ends the monitoring of a Machine that is reconciled or deleted. */
  release(machine: string): void {
    for (const [at, those] of this.#kept) if (those.delete(machine) && those.size === 0) this.#kept.delete(at);
  }

  /** Emits the names of the Machines to reconcile while a queue is subscribed. */
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

  /** Runs while a queue is subscribed and the location has idle Machines. */
  async #watch(at: string, turn: MonitorRun): Promise<void> {
    const { attended, signal } = turn;
    const look = () => this.#look(at, turn);
    // A change before the first observation also triggers one.
    this.#hearken(at, () => void look());
    // The observations are spread over the interval: all answers at once would cause garbage collection peaks.
    await this.#pause(observeAllSeconds * (1 - ((this.#count++ * goldenSection) % 1)), signal);
    while (!signal.aborted && this.#kept.has(at)) {
      await look();
      if (!signal.aborted) this.#hearken(at, () => void look());
      await this.#pause(observeAllSeconds, signal);
    }
    // Synchronous with the end of the loop, so that a Machine added later starts a new one.
    attended.delete(at);
    if (!signal.aborted) this.#hearken(at, undefined);
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // Rejects only when the subscription has ended.
    await this.#room.clock.sleep(seconds * 1000, signal).catch(() => {});
  }

  /**
   * Subscribes anew each time, because the configuration may have changed. Without `look` or without idle Machines it
   * only unsubscribes.
   */
  #hearken(at: string, look: (() => void) | undefined): void {
    const former = this.#ears.get(at);
    const [one] = this.#kept.get(at)?.values() ?? [];
    const stop = one && look && this.#lookout.listen(one, look);
    if (stop) this.#ears.set(at, stop);
    else this.#ears.delete(at);
    // After the new subscription, so that no change is missed in between.
    former?.();
  }

  async #look(at: string, { wake, signal }: MonitorRun): Promise<void> {
    try {
      const kept = [...(this.#kept.get(at)?.values() ?? [])];
      for (const one of await this.#changedOf(kept, signal)) {
        const { machine } = one.owner;
        // The Machine may have been reconciled during the observation.
        if (this.#kept.get(at)?.get(machine) !== one) continue;
        this.release(machine);
        wake(one);
      }
    } catch (error) {
      // A stopping process closes its connections before it aborts the signal.
      const isEnd = signal.aborted || error instanceof DOMException;
      if (!isEnd) this.#room.log.error({ err: error }, 'a glance failed by a fault of ours');
    }
  }

  /** All Machines if the location cannot be observed: each reconcile reports the reason. */
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
    // Only this provider writes facts.
    return (machine?.status?.progress?.facts as Facts | undefined) ?? noFacts;
  }
}
