import type { Clock } from '../../../lib/clock.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type BudgetName, hourlyLimits } from './routes.ts';

/**
 * Robot counts when a call arrives, we when its answer has come: what is an hour old here is older there. The rest is for
 * clocks that run at different speeds.
 */
const windowMs = 3_605_000;
/** Who is told to come again at a time keeps its turn for so much longer. */
const graceMs = 60_000;
/** Nobody is sent away for longer, so that one who does not come back is missed soon. */
const maxRetrySeconds = 300;
/** Who was not seen for so long has lost its place. */
const placeLifetimeMs = 3_600_000;

export interface CallBudgetOptions {
  readonly clock: Clock;
  readonly name: BudgetName;
  /** Calls of an hour that the account has. */
  readonly limit: number;
  /** How many of them are left to others who use the account. */
  readonly reserve: number;
}

/** A call that may be made. It counts until an hour after it has ended. */
export interface BudgetTicket {
  end(): void;
  /** It was not made. */
  giveBack(): void;
}

/** No call now. */
export interface BudgetRejection {
  /** When to come again. */
  readonly seconds: number;
  /** In words: `position 7 of 20, in about 9 minutes`. */
  readonly words: string;
  /** Robot said so; else we counted. */
  readonly isPaused: boolean;
}

interface QueueEntry {
  readonly key: string;
  /** Until then its turn is kept for it. */
  heldUntil: number;
}

/**
 * The calls of one kind that an account has in an hour, counted here, and a line of those who come when there are none
 * left. They are not held up: they go away, come again, and find their place in line kept. Nobody passes one who came
 * earlier and will be back.
 */
export class CallBudget {
  readonly name: BudgetName;
  readonly #clock: Clock;
  readonly #reserve: number;
  #limit: number;
  /** Ends of the calls of the last hour, in order. */
  #spent: number[] = [];
  #inHand = 0;
  #pausedUntil = 0;
  #line: QueueEntry[] = [];

  constructor({ clock, name, limit, reserve }: CallBudgetOptions) {
    this.name = name;
    this.#clock = clock;
    this.#limit = limit;
    this.#reserve = reserve;
  }

  /** Calls that could be made now. */
  get remaining(): number {
    const now = this.#clock.monotonic();
    if (now < this.#pausedUntil) return 0;
    this.#spent = this.#spent.filter((at) => now < at + windowMs);
    return Math.max(0, this.#most - this.#spent.length - this.#inHand);
  }

  /** How many wait, as far as we know. */
  get waiting(): number {
    this.#forget();
    return this.#line.length;
  }

  /** A call for `key`, or its place in line. The same key is the same one who waits. */
  take(key: string): BudgetTicket | BudgetRejection {
    const ahead = this.#aheadOf(key);
    if (this.remaining > ahead) {
      this.#line = this.#line.filter((one) => one.key !== key);
      return this.#hand();
    }
    return this.#sendAway(key, ahead);
  }

  /** Its place in line, or undefined: it may make its call, and its turn is kept for it until it has got ready for that. */
  check(key: string): BudgetRejection | undefined {
    const ahead = this.#aheadOf(key);
    if (this.remaining <= ahead) return this.#sendAway(key, ahead);
    this.#keep(key, this.#clock.monotonic() + graceMs);
    return undefined;
  }

  /** Robot said that there is nothing left: nothing goes out for so long. `limit` is what it says is the limit. */
  pause(seconds: number, limit?: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + seconds * 1000);
    if (limit !== undefined && limit > 0) this.#limit = Math.min(this.#limit, limit);
  }

  get #most(): number {
    return Math.max(1, this.#limit - this.#reserve);
  }

  #hand(): BudgetTicket {
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
        if (close()) this.#spent.push(this.#clock.monotonic());
      },
      giveBack: () => void close(),
    };
  }

  /** How many have come before, and will be back. */
  #aheadOf(key: string): number {
    this.#forget();
    const now = this.#clock.monotonic();
    const place = this.#line.findIndex((one) => one.key === key);
    const earlier = place < 0 ? this.#line : this.#line.slice(0, place);
    return earlier.filter(({ heldUntil }) => now <= heldUntil).length;
  }

  #keep(key: string, heldUntil: number): void {
    const known = this.#line.find((one) => one.key === key);
    if (known) known.heldUntil = heldUntil;
    else this.#line.push({ key, heldUntil });
  }

  #sendAway(key: string, ahead: number): BudgetRejection {
    const now = this.#clock.monotonic();
    const wait = this.#secondsUntilFree(ahead + 1);
    const seconds = Math.min(maxRetrySeconds, wait);
    this.#keep(key, now + seconds * 1000 + graceMs);
    const present = this.#line.filter((one) => now <= one.heldUntil).length;
    const place = `position ${ahead + 1} of ${Math.max(present, ahead + 1)}`;
    return { seconds, words: `${place}, in ${formatDuration(wait)}`, isPaused: now < this.#pausedUntil };
  }

  /** Until so many could be made, if nobody else makes any. */
  #secondsUntilFree(count: number): number {
    const now = this.#clock.monotonic();
    const start = Math.max(now, this.#pausedUntil);
    // What is in hand ends about now.
    const ends = [...this.#spent, ...Array.from({ length: this.#inHand }, () => now)];
    const free = Math.max(0, this.#most - ends.length);
    // More than the limit can have been spent: it may have been lowered.
    const places = [...Array<number>(free).fill(start), ...ends.slice(-this.#most).map((at) => at + windowMs)];
    // Beyond a whole budget another hour has to pass.
    const hours = Math.floor((count - 1) / places.length);
    const at = (places[(count - 1) % places.length] ?? start) + hours * windowMs;
    return Math.max(1, Math.ceil((Math.max(at, start) - now) / 1000));
  }

  #forget(): void {
    const now = this.#clock.monotonic();
    this.#line = this.#line.filter(({ heldUntil }) => now <= heldUntil + placeLifetimeMs);
  }
}

export const isBudgetRejection = (answer: BudgetTicket | BudgetRejection): answer is BudgetRejection =>
  'words' in answer;

/** The error of one who is sent away. */
export function toBudgetError(
  { seconds, words, isPaused }: BudgetRejection,
  call: string,
  cause?: unknown,
): ProviderError {
  const code = isPaused ? 'ROBOT_RATE_LIMITED' : 'ROBOT_BUDGET_SPENT';
  return new ProviderError(code, `${call}: ${words}.`, { retryAfterSeconds: seconds, cause });
}

/** `less than a minute`, `about 9 minutes`, `about 2 hours`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return 'about a minute';
  return minutes < 120 ? `about ${minutes} minutes` : `about ${Math.round(minutes / 60)} hours`;
}

/** People reset servers in the panel, which draws on nothing: none of these has to be left to others. */
const unreservedBudgets: ReadonlySet<BudgetName> = new Set(['POST /reset']);

/** All budgets of an account, by name. They outlive a change of password. */
export class CallBudgets {
  readonly #byName = new Map<BudgetName, CallBudget>();

  /** `reserveShare`: what is left to others, of each limit but resets; 0.1 unless said, rounded down. */
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
    // Nothing is open: it is kept with the connections because it lives as long as they do.
  }
}
