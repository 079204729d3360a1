import type { Clock } from '../../lib/clock.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';
import { GroupLimiter, type GroupOptions } from './group-limiter.ts';
import { type Priority, PriorityQueue } from './priority-queue.ts';

/** Records metrics of a queue. The names follow the metrics of client-go's work queue. */
export interface QueueObserver {
  /** Number of ready keys that wait for a worker. */
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** Time that a ready key waited for a worker. */
  queued(seconds: number): void;
  reconciled(seconds: number): void;
}

export interface QueueOptions {
  readonly clock: Clock;
  /** Maximum number of active keys; default 8. */
  readonly concurrency?: number;
  /** Maximum number of active low-priority keys; default: `concurrency`. */
  readonly lowPriorityConcurrency?: number;
  /** Groups of keys that share a limit of workers; default: no limit. */
  readonly groups?: GroupOptions;
  readonly random?: () => number;
  /** First delay after a failure; default 1. */
  readonly baseSeconds?: number;
  /** Longest delay; default 300. */
  readonly capSeconds?: number;
  readonly observer?: QueueObserver;
}

interface DelayedKey {
  /** Monotonic, in milliseconds. */
  readonly dueAt: number;
  readonly priority: Priority;
}

const maxSleepMs = 3_600_000;

/** Low-priority keys do not start for this time after a high-priority key has started. Then they start beside it. */
const lowPriorityYieldMs = 1000;

/**
 * A queue of keys. The queue holds a key at most once. An active key is not given to a second worker, but returns after
 * its work has ended. Keys are processed in the order in which they became ready, so that no key starves another. Keys
 * that a timer enqueues have low priority: they wait behind keys that a change enqueues, and while these are active.
 * The earliest of several delays for one key counts, and the start of the work on a key clears all of them.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #lowPriorityConcurrency: number;
  readonly #random: () => number;
  readonly #baseSeconds: number;
  readonly #capSeconds: number;
  readonly #observer: QueueObserver | undefined;
  readonly #ready = new PriorityQueue();
  readonly #groups: GroupLimiter;
  /** Delayed keys, with the time at which each becomes ready and its priority. */
  readonly #later = new Map<string, DelayedKey>();
  readonly #failures = new Map<string, number>();
  readonly #working = new Map<string, Promise<void>>();
  readonly #runningLowPriority = new Set<string>();
  /** Active high-priority keys and their start times, the oldest first. */
  readonly #runningHighPriority = new Map<string, number>();
  /** Keys that were added while they were active. */
  readonly #again = new Map<string, Priority>();
  #nextDue = Number.POSITIVE_INFINITY;
  #wake: () => void = () => {};
  /**
   * The timer that wakes the queue. It is kept when an earlier wake-up is set already: thousands of keys can arrive at
   * once.
   */
  #alarm: { readonly at: number; readonly stop: AbortController } | undefined;
  #isRunning = false;

  constructor(options: QueueOptions) {
    this.#clock = options.clock;
    this.#concurrency = options.concurrency ?? 8;
    this.#groups = new GroupLimiter(options.groups ?? { groupOf: (key) => key }, this.#concurrency);
    this.#lowPriorityConcurrency = options.lowPriorityConcurrency ?? this.#concurrency;
    this.#random = options.random ?? Math.random;
    this.#baseSeconds = options.baseSeconds ?? 1;
    this.#capSeconds = options.capSeconds ?? 300;
    this.#observer = options.observer;
  }

  /** Number of keys that wait, including delayed keys. */
  get size(): number {
    return this.#waiting + this.#later.size + this.#again.size;
  }

  /** Number of ready keys. */
  get #waiting(): number {
    return this.#ready.size + this.#groups.size;
  }

  get working(): number {
    return this.#working.size;
  }

  /**
   * Adds a key, immediately or after a delay; a delayed key has low priority by default. Throws a TypeError when the
   * delay is not a number.
   */
  add(key: string, afterSeconds = 0, priority: Priority = afterSeconds > 0 ? 'low' : 'high'): void {
    if (Number.isNaN(afterSeconds)) throw new TypeError('the delay of a key must be a number');
    if (afterSeconds > 0) this.#addLater(key, { dueAt: this.#clock.monotonic() + afterSeconds * 1000, priority });
    else this.#addNow(key, priority);
  }

  /**
   * Adds a key after a failure: with a longer delay for each failure in a row, and not before `minSeconds`. Returns
   * the number of failures in a row. `baseSeconds` replaces the queue's own; `priority` is `low` by default.
   */
  retry(
    key: string,
    options: { minSeconds?: number | undefined; baseSeconds?: number; priority?: Priority } = {},
  ): number {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    const seconds = backoffSeconds(failures, {
      baseSeconds: options.baseSeconds ?? this.#baseSeconds,
      capSeconds: this.#capSeconds,
      random: this.#random,
    });
    this.#observer?.retried();
    this.add(key, Math.max(seconds, options.minSeconds ?? 0), options.priority ?? 'low');
    return failures;
  }

  /** Resets the failure count of a key. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Number of failures in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * Passes keys to `work` until the signal aborts, then waits for active work for at most `drainSeconds`. Returns the
   * keys that are still active. `work` must not throw; an error from it ends the queue.
   */
  async run(work: (key: string) => Promise<void>, signal: AbortSignal, drainSeconds = 10): Promise<readonly string[]> {
    if (this.#isRunning) throw new TypeError('the queue is running already');
    this.#isRunning = true;
    const broken = new AbortController();
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted && !broken.signal.aborted) {
        this.#promote();
        this.#startWorkers(work, broken);
        await this.#nextEvent();
      }
      await this.#drain(drainSeconds);
      broken.signal.throwIfAborted();
      return [...this.#working.keys()];
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#alarm?.stop.abort();
      this.#alarm = undefined;
      this.#isRunning = false;
    }
  }

  #addNow(key: string, priority: Priority): void {
    this.#observer?.added();
    this.#later.delete(key);
    if (this.#groups.setLimit(key, priority)) return;
    if (!this.#working.has(key)) this.#ready.add(key, priority, this.#clock.monotonic());
    else if (this.#again.get(key) !== 'high') this.#again.set(key, priority);
    this.#changed();
  }

  #addLater(key: string, { dueAt, priority }: DelayedKey): void {
    if (this.#ready.has(key) || this.#groups.has(key) || this.#again.has(key)) return;
    if (dueAt >= (this.#later.get(key)?.dueAt ?? Number.POSITIVE_INFINITY)) return;
    this.#later.set(key, { dueAt, priority });
    if (dueAt >= this.#nextDue) return;
    this.#nextDue = dueAt;
    this.#wake();
  }

  /** Moves delayed keys that are due to the ready keys, the earliest first. */
  #promote(): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextDue) return;
    const due = [...this.#later].filter(([, later]) => later.dueAt <= now).sort(([, a], [, b]) => a.dueAt - b.dueAt);
    for (const [key, { priority }] of due) this.#addNow(key, priority);
    this.#nextDue = Number.POSITIVE_INFINITY;
    for (const later of this.#later.values()) this.#nextDue = Math.min(this.#nextDue, later.dueAt);
  }

  #startWorkers(work: (key: string) => Promise<void>, broken: AbortController): void {
    while (this.#working.size < this.#concurrency) {
      const next = this.#ready.take(this.#hasLowPriorityCapacity());
      if (!next) break;
      if (!this.#groups.begin(next)) continue;
      const { key, priority, since } = next;
      const startedAt = this.#clock.monotonic();
      if (priority === 'low') this.#runningLowPriority.add(key);
      else this.#runningHighPriority.set(key, startedAt);
      this.#observer?.queued((startedAt - since) / 1000);
      const done = Promise.resolve()
        .then(() => work(key))
        .catch((error: unknown) => broken.abort(error))
        .finally(() => this.#finish(key, startedAt));
      this.#working.set(key, done);
    }
    this.#observer?.depth(this.#waiting);
  }

  #hasLowPriorityCapacity(): 'free' | 'yield' | 'full' {
    if (this.#runningLowPriority.size >= this.#lowPriorityConcurrency) return 'full';
    const youngest = [...this.#runningHighPriority.values()].at(-1);
    if (youngest === undefined) return 'free';
    const until = youngest + lowPriorityYieldMs;
    if (this.#clock.monotonic() >= until) return 'free';
    this.#nextDue = Math.min(this.#nextDue, until);
    return 'yield';
  }

  #finish(key: string, startedAt: number): void {
    this.#working.delete(key);
    this.#runningLowPriority.delete(key);
    this.#runningHighPriority.delete(key);
    const seconds = (this.#clock.monotonic() - startedAt) / 1000;
    this.#observer?.reconciled(seconds);
    for (const next of this.#groups.end(key, seconds)) this.#ready.add(next.key, next.priority, next.since);
    const priority = this.#again.get(key);
    if (priority && this.#again.delete(key)) this.#ready.add(key, priority, this.#clock.monotonic());
    this.#changed();
  }

  #changed(): void {
    this.#observer?.depth(this.#waiting);
    this.#wake();
  }

  /** Resolves when a key is added or finished, or when the next delay ends. */
  async #nextEvent(): Promise<void> {
    const awoken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#setAlarm();
    await awoken;
  }

  #setAlarm(): void {
    if (this.#alarm && this.#alarm.at <= this.#nextDue) return;
    this.#alarm?.stop.abort();
    const now = this.#clock.monotonic();
    // Node's timers overflow after 24 days and then fire at once. One needless wake-up per hour costs nothing.
    const ms = Math.min(Math.max(this.#nextDue - now, 0), maxSleepMs);
    const alarm = { at: now + ms, stop: new AbortController() };
    this.#alarm = alarm;
    const ring = (): void => {
      if (this.#alarm !== alarm) return;
      this.#alarm = undefined;
      this.#wake();
    };
    this.#clock.sleep(ms, alarm.stop.signal).then(ring, () => {});
  }

  async #drain(seconds: number): Promise<void> {
    if (this.#working.size === 0) return;
    const stop = new AbortController();
    const timer = this.#clock.sleep(seconds * 1000, stop.signal).catch(() => {});
    await Promise.race([Promise.all(this.#working.values()), timer]);
    stop.abort();
  }
}
