import type { Closable } from '../../../engine/platform.ts';
import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';

/** So old may be what the system said of what it has: many machines that wait for some cost one call. */
const availabilityMaxAgeSeconds = 15;

/** What a machine is about to take, in bytes. */
export interface ReservationRequest {
  readonly takes: number;
  /** So much more has to be there while it is taken, and stays afterwards. Default: nothing. */
  readonly spare?: number;
}

interface Reservation extends Required<ReservationRequest> {
  readonly until: number;
}

/** What the system could guarantee when it was asked, less what was promised then and since. */
interface Availability {
  readonly at: number;
  readonly budget: Promise<{ left: number }>;
}

/**
 * Something of one system that machines of this process are about to take: its memory, the room at one place. TrueNAS counts what is
 * taken and knows nothing of what is being made, so that twenty machines that look at once would all see the same. It outlives no
 * process: who goes on after a crash asks anew.
 */
export class ReservationTable implements Closable {
  readonly #clock: Clock;
  readonly #holdMinutes: number;
  readonly #holds = new Map<string, Reservation>();
  #look: Availability | undefined;

  /** `holdMinutes`: a machine that has not taken it after so long has other troubles. Others may have it meanwhile. */
  constructor(clock: Clock, holdMinutes: number) {
    this.#clock = clock;
    this.#holdMinutes = holdMinutes;
  }

  /**
   * Promises so many bytes to that machine, or says how many are left that could be. A promise that it holds already is
   * prolonged. Promises may be taken in any order: what one of them has to find there beside it is never promised away. `ask` is
   * what the system can guarantee now; it must bring a deadline of its own: others may wait for it when this caller has gone.
   */
  async hold(
    id: string,
    want: ReservationRequest,
    ask: () => Promise<number>,
    signal: AbortSignal,
  ): Promise<{ held: true } | { held: false; left: number }> {
    const { takes, spare = 0 } = want;
    if ((this.#current(id)?.takes ?? 0) >= takes) {
      this.#note(id, want);
      return { held: true };
    }
    for (;;) {
      const look = this.#lookFor(ask);
      const budget = await waitOrAbort(look.budget, signal);
      // Another look has begun meanwhile, from which this one's promises would be missing.
      if (this.#look !== look) continue;
      const kept = Math.max(spare, ...[...this.#holds].map(([other, hold]) => (other === id ? 0 : hold.spare)));
      if (takes + kept > budget.left) return { held: false, left: budget.left };
      budget.left -= takes;
      this.#note(id, want);
      return { held: true };
    }
  }

  /** Whether something is promised to that machine. */
  has(id: string): boolean {
    return this.#current(id) !== undefined;
  }

  /** What another has promised is promised here from now on: both are of the same system. */
  takeOver(other: ReservationTable): void {
    for (const [id, hold] of other.#holds) if (!this.#holds.has(id)) this.#holds.set(id, hold);
    this.#look = undefined;
  }

  /** It has taken it: the system itself counts it from now on. */
  settle(id: string): void {
    this.#holds.delete(id);
  }

  /** It will not take it for now: others may have it. */
  abandon(id: string): void {
    if (this.#holds.delete(id)) this.#look = undefined;
  }

  close(): void {
    this.#holds.clear();
  }

  #note(id: string, { takes, spare = 0 }: ReservationRequest): void {
    this.#holds.set(id, { takes, spare, until: this.#clock.monotonic() + this.#holdMinutes * 60_000 });
  }

  #lookFor(ask: () => Promise<number>): Availability {
    const at = this.#clock.monotonic();
    if (this.#look && at - this.#look.at < availabilityMaxAgeSeconds * 1000) return this.#look;
    // What is taken while the answer is under way may be reckoned twice until the next look, and never not at all.
    const promised = [...this.#holds.values()].reduce((sum, { takes }) => sum + takes, 0);
    const look: Availability = { at, budget: ask().then((available) => ({ left: available - promised })) };
    this.#look = look;
    look.budget.catch(() => {
      if (this.#look === look) this.#look = undefined;
    });
    return look;
  }

  #current(id: string): Reservation | undefined {
    const now = this.#clock.monotonic();
    for (const [other, { until }] of this.#holds) if (now >= until) this.#holds.delete(other);
    return this.#holds.get(id);
  }
}
