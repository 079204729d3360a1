import type { Clock } from '../../../lib/clock.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { type BudgetName, hourlyLimits } from './routes.ts';

/**
 * Robot counts a call when it arrives, and this budget when its answer has come, so an hour here covers an hour there.
 * The extra seconds allow for clocks that run at different speeds.
 */
const windowMs = 3_605_000;
/** A caller that was told when to retry keeps its place for this much longer. */
const graceMs = 60_000;
/** Longest retry delay, so that a caller that does not come back is noticed soon. */
const maxRetrySeconds = 300;
/** A caller that was not seen for this long loses its place. */
const placeLifetimeMs = 3_600_000;

export interface CallBudgetOptions {
  readonly clock: Clock;
  readonly name: BudgetName;
  /** Calls per hour that the account has. */
  readonly limit: number;
  /** Calls per hour that are left to other clients of the account. */
  readonly reserve: number;
}

/** Permission for one call. The call counts until an hour after its end. */
export interface BudgetTicket {
  end(): void;
  /** Takes the call back when it was not made. */
  refund(): void;
}

/** No call is available now. */
export interface BudgetRejection {
  /** Seconds until the caller should retry. */
  readonly seconds: number;
  /** Text such as `position 7 of 20, in about 9 minutes`. */
  readonly message: string;
  /** True when Robot reported the limit, false when our own count did. */
  readonly isPaused: boolean;
}

interface QueueEntry {
  readonly key: string;
  /** The place is kept until this time. */
  deferredUntil: number;
}

/**
 * The hourly budget of one kind of call, counted here, with a queue for callers that find it spent. Callers are not
 * blocked: they leave, retry later, and keep their place. No caller passes an earlier one that is expected to retry.
 */
export class CallBudget {
  readonly name: BudgetName;
  readonly #clock: Clock;
  readonly #reserve: number;
  #limit: number;
  /** End times of the calls of the last hour, in order. */
  #used: number[] = [];
  #inHand = 0;
  #pausedUntil = 0;
  #line: QueueEntry[] = [];

  constructor({ clock, name, limit, reserve }: CallBudgetOptions) {
    this.name = name;
    this.#clock = clock;
    this.#limit = limit;
    this.#reserve = reserve;
  }

  /** Calls of an hour, without those that are left to other clients. */
  get total(): number {
    return this.#most;
  }

  /** Calls that are available now. */
  get remaining(): number {
    const now = this.#clock.monotonic();
    if (now < this.#pausedUntil) return 0;
    this.#used = this.#used.filter((at) => now < at + windowMs);
    return Math.max(0, this.#most - this.#used.length - this.#inHand);
  }

  /** Number of callers in the queue. */
  get waiting(): number {
    this.#forget();
    return this.#line.length;
  }

  /** Takes a call for `key`, or returns its place in the queue. The same key is the same caller. */
  take(key: string): BudgetTicket | BudgetRejection {
    const ahead = this.#entriesAheadOf(key);
    if (this.remaining > ahead) {
      this.#line = this.#line.filter((one) => one.key !== key);
      return this.#grant();
    }
    return this.#reject(key, ahead);
  }

  /**
   * Returns the caller's place in the queue, or undefined when a call is available. The place is then kept while the
   * caller prepares.
   */
  check(key: string): BudgetRejection | undefined {
    const ahead = this.#entriesAheadOf(key);
    if (this.remaining <= ahead) return this.#reject(key, ahead);
    this.#enqueue(key, this.#clock.monotonic() + graceMs);
    return undefined;
  }

  /**
   * Robot reported that the limit is reached: no call is available for this time. `limit` is the limit that Robot
   * names.
   */
  pause(seconds: number, limit?: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + seconds * 1000);
    if (limit !== undefined && limit > 0) this.#limit = Math.min(this.#limit, limit);
  }

  get #most(): number {
    return Math.max(1, this.#limit - this.#reserve);
  }

  #grant(): BudgetTicket {
    this.#inHand += 1;
    let isOpen = true;
    const close = (): boolean => {
      const was = isOpen;
      isOpen = false;
      if (was) this.#inHand -= 1;
      return was;
    };
    return {
      end: () => {
        if (close()) this.#used.push(this.#clock.monotonic());
      },
      refund: () => void close(),
    };
  }

  /** Number of earlier callers that are expected to retry. */
  #entriesAheadOf(key: string): number {
    this.#forget();
    const now = this.#clock.monotonic();
    const place = this.#line.findIndex((one) => one.key === key);
    const earlier = place < 0 ? this.#line : this.#line.slice(0, place);
    return earlier.filter(({ deferredUntil }) => now <= deferredUntil).length;
  }

  #enqueue(key: string, heldUntil: number): void {
    const known = this.#line.find((one) => one.key === key);
    if (known) known.deferredUntil = heldUntil;
    else this.#line.push({ key, deferredUntil: heldUntil });
  }

  #reject(key: string, ahead: number): BudgetRejection {
    const now = this.#clock.monotonic();
    const wait = this.#secondsUntilFree(ahead + 1);
    const seconds = Math.min(maxRetrySeconds, wait);
    this.#enqueue(key, now + seconds * 1000 + graceMs);
    const present = this.#line.filter((one) => now <= one.deferredUntil).length;
    const place = `position ${ahead + 1} of ${Math.max(present, ahead + 1)}`;
    return { seconds, message: `${place}, in ${formatDuration(wait)}`, isPaused: now < this.#pausedUntil };
  }

  /** Seconds until `count` calls are available, if no other caller takes any. */
  #secondsUntilFree(count: number): number {
    const now = this.#clock.monotonic();
    const start = Math.max(now, this.#pausedUntil);
    // A call in progress is assumed to end now.
    const ends = [...this.#used, ...Array.from({ length: this.#inHand }, () => now)];
    const free = Math.max(0, this.#most - ends.length);
    // The number of spent calls can exceed the limit when Robot has lowered it.
    const places = [...Array<number>(free).fill(start), ...ends.slice(-this.#most).map((at) => at + windowMs)];
    // Each further full budget takes another hour.
    const hours = Math.floor((count - 1) / places.length);
    const at = (places[(count - 1) % places.length] ?? start) + hours * windowMs;
    return Math.max(1, Math.ceil((Math.max(at, start) - now) / 1000));
  }

  #forget(): void {
    const now = this.#clock.monotonic();
    this.#line = this.#line.filter(({ deferredUntil }) => now <= deferredUntil + placeLifetimeMs);
  }
}

export const isBudgetRejection = (answer: BudgetTicket | BudgetRejection): answer is BudgetRejection =>
  'message' in answer;

/** The error for a caller without a call. */
export function toBudgetError(
  { seconds, message, isPaused }: BudgetRejection,
  call: string,
  cause?: unknown,
): ProviderError {
  const code = isPaused ? 'ROBOT_RATE_LIMITED' : 'ROBOT_BUDGET_SPENT';
  return new HetznerRobotError(code, `${call}: ${message}.`, { retryAfterSeconds: seconds, cause });
}

/** E.g. `about a minute`, `about 9 minutes`, `about 2 hours`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return 'about a minute';
  return minutes < 120 ? `about ${minutes} minutes` : `about ${Math.round(minutes / 60)} hours`;
}

/** Resets in the web panel do not use this limit, so nothing is reserved for other clients. */
const unreservedBudgets: ReadonlySet<BudgetName> = new Set(['POST /reset']);

/** All budgets of an account, by name. They survive a change of password. */
export class CallBudgets {
  readonly #byName = new Map<BudgetName, CallBudget>();

  /** `reserveShare`: share of each limit, except resets, that is left to other clients; default 0.1, rounded down. */
  constructor(clock: Clock, reserveShare = 0.1) {
    for (const [name, limit] of Object.entries(hourlyLimits) as [BudgetName, number][]) {
      const reserve = unreservedBudgets.has(name) ? 0 : Math.floor(limit * reserveShare);
      this.#byName.set(name, new CallBudget({ clock, name, limit, reserve }));
    }
  }

  of(name: BudgetName): CallBudget {
    const budget = this.#byName.get(name);
    if (!budget) throw new RangeError(`no budget ${name}`);
    return budget;
  }

  close(): void {
    // There is nothing to close. The budgets are kept with the connections because both have the same lifetime.
  }
}
