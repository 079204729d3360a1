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
  readonly fingerprint: string;
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
  readonly listened: Set<string>;
  readonly signal: AbortSignal;
}

/**
 * Observes idle Machines. One request covers all Machines of a location (ProviderConfig and failure domain), so that a
 * thousand cost no more than one. A Machine with a changed fingerprint is enqueued and reconciled on its own. If a
 * location publishes changes, a change triggers the observation; the interval applies in any case.
 */
export class MachineMonitor {
  readonly #locations: MonitorServices;
  readonly #loop: LocationObserver;
  /** By location, then by Machine name. */
  readonly #watched = new Map<string, Map<string, WatchedMachine>>();
  /** Unsubscribe functions by location. */
  readonly #listeners = new Map<string, () => void>();
  /** Number of observation loops started so far. */
  #count = 0;
  #reconcileSubscriptions: ((at: string) => void) | undefined;

  constructor(locations: MonitorServices) {
    this.#locations = locations;
    this.#loop = new LocationObserver(locations);
  }

  /**
   * Enqueues the Machine once its fingerprint differs from `fingerprint`. False: its platform cannot observe all Machines at
   * once.
   */
  add(machine: Machine, fingerprint: string): boolean {
    const { name } = machine.metadata;
    const { platform, failureDomain, providerConfigRef } = machine.spec;
    const { installation, provider } = this.#locations;
    const owner = { installation, provider, machine: name };
    const kept: WatchedMachine = {
      owner,
      config: providerConfigRef.name,
      platform,
      failureDomain,
      fingerprint,
      facts: noFacts,
    };
    if (!this.#loop.canObserve(kept)) return false;
    this.release(name);
    const at = [platform, kept.config, failureDomain].join('/');
    const others = this.#watched.get(at);
    if (others) others.set(name, kept);
    else this.#watched.set(at, new Map([[name, kept]]));
    this.#reconcileSubscriptions?.(at);
    return true;
  }

  /** Ends the monitoring of a Machine that is reconciled or deleted. */
  release(machine: string): void {
    for (const [at, those] of this.#watched) if (those.delete(machine) && those.size === 0) this.#watched.delete(at);
  }

  /** Emits the names of the Machines to reconcile while a queue is subscribed. */
  get source(): KeySource {
    return {
      synced: Promise.resolve(),
      subscribe: (enqueue) => {
        const over = new AbortController();
        const wake = ({ owner }: WatchedMachine): void => enqueue({ name: owner.machine }, 'low');
        const turn: MonitorRun = { wake, listened: new Set(), signal: over.signal };
        this.#reconcileSubscriptions = (at) => {
          if (turn.listened.has(at)) return;
          turn.listened.add(at);
          void this.#watch(at, turn);
        };
        for (const at of this.#watched.keys()) this.#reconcileSubscriptions(at);
        return () => {
          this.#reconcileSubscriptions = undefined;
          over.abort();
          for (const at of this.#listeners.keys()) this.#listen(at, undefined);
        };
      },
    };
  }

  /** Runs while a queue is subscribed and the location has idle Machines. */
  async #watch(at: string, turn: MonitorRun): Promise<void> {
    const { listened, signal } = turn;
    const read = () => this.#observe(at, turn);
    // A change before the first observation also triggers one.
    this.#listen(at, () => void read());
    // The observations are spread over the interval: all answers at once would cause garbage collection peaks.
    await this.#pause(observeAllSeconds * (1 - ((this.#count++ * goldenSection) % 1)), signal);
    while (!signal.aborted && this.#watched.has(at)) {
      await read();
      if (!signal.aborted) this.#listen(at, () => void read());
      await this.#pause(observeAllSeconds, signal);
    }
    // Synchronous with the end of the loop, so that a Machine added later starts a new one.
    listened.delete(at);
    if (!signal.aborted) this.#listen(at, undefined);
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // Rejects only when the subscription has ended.
    await this.#locations.clock.sleep(seconds * 1000, signal).catch(() => {});
  }

  /**
   * Subscribes anew each time, because the configuration may have changed. Without `observe` or without idle Machines it
   * only unsubscribes.
   */
  #listen(at: string, read: (() => void) | undefined): void {
    const former = this.#listeners.get(at);
    const [one] = this.#watched.get(at)?.values() ?? [];
    const stop = one && read && this.#loop.listen(one, read);
    if (stop) this.#listeners.set(at, stop);
    else this.#listeners.delete(at);
    // After the new subscription, so that no change is missed in between.
    former?.();
  }

  async #observe(at: string, { wake, signal }: MonitorRun): Promise<void> {
    try {
      const kept = [...(this.#watched.get(at)?.values() ?? [])];
      for (const one of await this.#changedOf(kept, signal)) {
        const { machine } = one.owner;
        // The Machine may have been reconciled during the observation.
        if (this.#watched.get(at)?.get(machine) !== one) continue;
        this.release(machine);
        wake(one);
      }
    } catch (error) {
      // A stopping process closes its connections before it aborts the signal.
      const isEnd = signal.aborted || error instanceof DOMException;
      if (!isEnd) this.#locations.log.error({ err: error }, 'the observation of all machines failed because of a bug');
    }
  }

  /** All Machines if the location cannot be observed: each reconcile reports the reason. */
  async #changedOf(all: readonly WatchedMachine[], signal: AbortSignal): Promise<readonly WatchedMachine[]> {
    try {
      for (const one of all) one.facts = this.#factsOf(one);
      const fingerprints = await this.#loop.observeAll(all, signal);
      return all.filter((one, index) => fingerprints?.[index] !== one.fingerprint);
    } catch (error) {
      if (error instanceof ProviderError) return all;
      throw error;
    }
  }

  #factsOf({ owner }: WatchedMachine): Facts {
    const machine = this.#locations.stores.machines.get({ name: owner.machine });
    // Only this provider writes facts.
    return (machine?.status?.progress?.facts as Facts | undefined) ?? noFacts;
  }
}
