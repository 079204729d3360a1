import type { Machine } from '../../api/machine.ts';
import type { Facts, Owner } from '../../engine/platform.ts';
import type { Source } from '../../kube/controller.ts';
import type { ObjectKey } from '../../kube/resource.ts';
import { ProviderError } from '../../lib/errors.ts';
import { Lookout, type Place, type Room } from './lookout.ts';

/** With an answer that is shared for a while, less than a minute in all. */
const glanceSeconds = 40;

/** A machine at rest, and all that it was judged by when it was found so. */
interface Kept extends Place {
  readonly owner: Owner;
  readonly trace: string;
}

/**
 * Keeps watch over machines at rest. All of a place are seen with one look, so that a thousand of them cost no more than one; the
 * one about which something has changed is woken, and looked at on its own. Where a place tells of changes it is looked at then,
 * and after a while in any case.
 */
export class Vigil {
  readonly #room: Room;
  readonly #lookout: Lookout;
  readonly #kept = new Map<string, Kept>();
  /** How to stop listening, by place. */
  readonly #ears = new Map<string, () => void>();

  constructor(room: Room) {
    this.#room = room;
    this.#lookout = new Lookout(room);
  }

  /** It is woken from now on when something else is seen of it than `trace`. False: nobody can see it so. */
  keep(machine: Machine, trace: string): boolean {
    const { name } = machine.metadata;
    const { platform, site, providerConfigRef } = machine.spec;
    const { installation, provider } = this.#room;
    const owner = { installation, provider, machine: name };
    const kept: Kept = { owner, config: providerConfigRef.name, platform, site, trace };
    if (!this.#lookout.sees(kept)) return false;
    this.#kept.set(name, kept);
    return true;
  }

  /** It is looked at by others, or is gone. */
  release(machine: string): void {
    this.#kept.delete(machine);
  }

  /** Hands on the names of those that are to be looked at, for as long as somebody listens. */
  get source(): Source {
    return {
      synced: Promise.resolve(),
      subscribe: (enqueue) => {
        const over = new AbortController();
        void this.#watch((key) => enqueue(key, 'patient'), over.signal);
        return () => {
          over.abort();
          for (const stop of this.#ears.values()) stop();
          this.#ears.clear();
        };
      },
    };
  }

  async #watch(wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Rejects only when nobody listens any more.
      await this.#room.clock.sleep(glanceSeconds * 1000, signal).catch(() => {});
      if (signal.aborted) return;
      const places = this.#places();
      await Promise.all([...places.keys()].map((at) => this.#look(at, wake, signal)));
      this.#hearken([...places], (at) => void this.#look(at, wake, signal), signal);
    }
  }

  /** Another configuration is another ear: each round anew. */
  #hearken(places: readonly [string, readonly Kept[]][], look: (at: string) => void, signal: AbortSignal): void {
    const former = [...this.#ears.values()];
    this.#ears.clear();
    for (const [at, [one]] of signal.aborted ? [] : places) {
      const stop = one && this.#lookout.listen(one, () => look(at));
      if (stop) this.#ears.set(at, stop);
    }
    // Only now: nothing is missed in between.
    for (const stop of former) stop();
  }

  async #look(at: string, wake: (key: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    try {
      const kept = this.#places().get(at) ?? [];
      for (const name of await this.#changedOf(kept, signal)) if (this.#kept.delete(name)) wake({ name });
    } catch (error) {
      // A process that ends closes its connections before it says that it is over.
      const isEnd = signal.aborted || error instanceof DOMException;
      if (!isEnd) this.#room.log.error({ err: error }, 'a glance failed by a fault of ours');
    }
  }

  /** Those at rest, by where they are. */
  #places(): Map<string, Kept[]> {
    const places = new Map<string, Kept[]>();
    for (const one of this.#kept.values()) {
      const at = [one.platform, one.config, one.site].join('/');
      const others = places.get(at);
      if (others) others.push(one);
      else places.set(at, [one]);
    }
    return places;
  }

  /** All of them where nobody can look: each says for itself why. */
  async #changedOf(all: readonly Kept[], signal: AbortSignal): Promise<readonly string[]> {
    const names = (those: readonly Kept[]) => those.map(({ owner }) => owner.machine);
    try {
      const resting = all.map((one) => ({ ...one, facts: this.#factsOf(one) }));
      const traces = await this.#lookout.glance(resting, signal);
      return names(all.filter((one, index) => traces?.[index] !== one.trace));
    } catch (error) {
      if (error instanceof ProviderError) return names(all);
      throw error;
    }
  }

  /** They stand in the store already: of thousands at rest they are not kept twice. */
  #factsOf({ owner }: Kept): Facts {
    const machine = this.#room.stores.machines.get({ name: owner.machine });
    // Written by us alone.
    return (machine?.status?.progress?.facts ?? {}) as Facts;
  }
}
