import type { Closable } from '../../engine/platform.ts';
import type { Clock } from '../../lib/clock.ts';
import { orAborted } from '../../lib/deadline.ts';

/** So old may be what the system said of its memory: many machines that wait for some cost one call. */
const lookSeconds = 15;
/** A machine that has not been started after so long has other troubles. Others may have its memory meanwhile. */
const holdMinutes = 15;

interface Hold {
  readonly bytes: number;
  readonly until: number;
}

/** What the system could guarantee when it was asked, less what was promised then and since. */
interface Look {
  readonly at: number;
  readonly budget: Promise<{ left: number }>;
}

/**
 * The memory of one system that machines of this process are about to take. TrueNAS counts what runs and knows nothing of what
 * is being made, so that twenty machines that look at once would all see the same room. It outlives no process: who goes on
 * after a crash asks anew.
 */
export class MemoryBook implements Closable {
  readonly #clock: Clock;
  readonly #holds = new Map<string, Hold>();
  #look: Look | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Promises so many bytes to that machine, or says how many are left that could be. A promise that it holds already is
   * prolonged. `ask` is what the system can guarantee now; it must bring a deadline of its own: others may wait for it when this
   * caller has gone.
   */
  async hold(
    id: string,
    bytes: number,
    ask: () => Promise<number>,
    signal: AbortSignal,
  ): Promise<{ held: true } | { held: false; left: number }> {
    const until = () => this.#clock.monotonic() + holdMinutes * 60_000;
    this.#forgetOld();
    if ((this.#holds.get(id)?.bytes ?? 0) >= bytes) {
      this.#holds.set(id, { bytes, until: until() });
      return { held: true };
    }
    for (;;) {
      const look = this.#lookFor(ask);
      const budget = await orAborted(look.budget, signal);
      // Another look has begun meanwhile, from which this one's promises would be missing.
      if (this.#look !== look) continue;
      if (bytes > budget.left) return { held: false, left: budget.left };
      budget.left -= bytes;
      this.#holds.set(id, { bytes, until: until() });
      return { held: true };
    }
  }

  /** What another has promised is promised here from now on: both are of the same system. */
  takeOver(other: MemoryBook): void {
    for (const [id, hold] of other.#holds) if (!this.#holds.has(id)) this.#holds.set(id, hold);
    this.#look = undefined;
  }

  /** It runs: the system itself counts its memory from now on. */
  settle(id: string): void {
    this.#holds.delete(id);
  }

  /** It will not be started for now: others may have its memory. */
  abandon(id: string): void {
    if (this.#holds.delete(id)) this.#look = undefined;
  }

  close(): void {
    this.#holds.clear();
  }

  #lookFor(ask: () => Promise<number>): Look {
    const at = this.#clock.monotonic();
    if (this.#look && at - this.#look.at < lookSeconds * 1000) return this.#look;
    // What starts while the answer is under way may be reckoned twice until the next look, and never not at all.
    const promised = [...this.#holds.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    const look: Look = { at, budget: ask().then((available) => ({ left: available - promised })) };
    this.#look = look;
    look.budget.catch(() => {
      if (this.#look === look) this.#look = undefined;
    });
    return look;
  }

  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [id, { until }] of this.#holds) if (now >= until) this.#holds.delete(id);
  }
}
