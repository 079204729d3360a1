import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { RateLimit } from '../../lib/resilience/rate-limit.ts';
import { isConflict, isServerCondition, KubeError } from '../errors.ts';
import type { ObjectChange } from '../reflector/object-store.ts';
import type { Reflector } from '../reflector/reflector.ts';
import { formatObjectKey, type KubeObject, type ObjectKey, objectKeyOf, parseObjectKey } from '../resource.ts';
import type { GroupOptions } from './group-limiter.ts';
import type { Priority } from './priority-queue.ts';
import { type QueueObserver, WorkQueue } from './work-queue.ts';

/**
 * Result of a reconcile: the delay until the next reconcile of the key. Without a delay the key returns with the next
 * change.
 */
export interface ReconcileResult {
  readonly requeueAfterSeconds?: number;
}

/** The context of a reconcile besides the key. */
export interface ReconcileContext {
  /** Aborts every call at the reconcile's deadline, on shutdown and on lost leadership. */
  readonly signal: AbortSignal;
  /** A logger with `controller`, `key` and an id for this reconcile. */
  readonly log: Log;
}

/** A source of keys to reconcile. {@link createKeySource} creates one. */
export interface KeySource {
  readonly synced: Promise<void>;
  /**
   * Passes on the keys of all known objects and every later key. Returns a function that unsubscribes. A `low` key
   * comes from a resync without a change.
   */
  subscribe(enqueue: (key: ObjectKey, priority: Priority, afterSeconds?: number) => void): () => void;
}

/** The outcome of a reconcile, with the label values of controller-runtime. */
export type ReconcileOutcome = 'success' | 'requeue_after' | 'requeue' | 'error';

/** Records metrics of controllers. */
export interface ControllerObserver {
  /** Called once for each controller; the queue of the controller reports to the result. */
  queue(controller: string): QueueObserver;
  reconciled(controller: string, outcome: ReconcileOutcome, seconds: number): void;
  /** Number of busy workers. */
  active(controller: string, workers: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum number of concurrent reconciles; default 8. */
  readonly concurrency?: number;
  /** Maximum number of concurrent reconciles of low-priority keys; default: all workers. */
  readonly lowPriorityConcurrency?: number;
  /** Groups of keys that can block each other, so that one group never occupies all workers. */
  readonly groups?: { groupOf(key: ObjectKey): string; readonly limitsSlowGroups?: boolean };
  /** Deadline of one reconcile; default 300. */
  readonly deadlineSeconds?: number;
  /** Maximum time that shutdown waits for active reconciles; default 10. */
  readonly drainSeconds?: number;
  readonly random?: () => number;
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconcile without a delay returns nothing.
  reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult | void>;
  readonly sources: readonly KeySource[];
  /** The minimum delay that an error requests; by default its own `retryAfterSeconds`. */
  retryAfterOf?(error: unknown): number | undefined;
  readonly observer?: ControllerObserver;
}

/**
 * Creates a source of the keys that a change concerns. `keys` runs synchronously for each watch event: it must be quick
 * and pure, and must not throw. For `updated`, compare with `change.before` and return nothing for an irrelevant change
 * (e.g. a status that this program wrote). `throttle` limits the frequency: one object, or all objects of the same
 * group, enqueue keys at most once per interval.
 */
export function createKeySource<T extends KubeObject>(
  reflector: Pick<Reflector<T>, 'synced' | 'onChange'>,
  keys: (change: ObjectChange<T>) => readonly ObjectKey[],
  throttle?: WakeInterval & { groupOf?(object: T): string },
): KeySource {
  return {
    synced: reflector.synced,
    subscribe: (enqueue) => {
      const throttled = throttle && new WakeThrottle(throttle);
      const groupOf = throttle?.groupOf ?? ((object: T) => formatObjectKey(objectKeyOf(object)));
      const wake = (change: ObjectChange<T>) => {
        const priority = change.kind === 'resync' ? 'low' : 'high';
        const all = keys(change);
        const afterSeconds = all.length > 0 && priority === 'high' ? throttled?.take(groupOf(change.object)) : 0;
        for (const key of all) enqueue(key, priority, afterSeconds);
      };
      return reflector.onChange(wake, { replay: true });
    },
  };
}

interface WakeInterval {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly seconds: number;
}

/** Limits how often each object enqueues keys. */
class WakeThrottle {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #seconds: number;
  readonly #limits = new LruMap<string, RateLimit>(maxThrottledObjects);

  constructor({ clock, seconds }: WakeInterval) {
    this.#clock = clock;
    this.#seconds = seconds;
  }

  /** Seconds until the object may enqueue keys again. */
  take(key: string): number {
    const limit = this.#limits.get(key) ?? new RateLimit(this.#clock, { burst: 1, perSecond: 1 / this.#seconds });
    this.#limits.set(key, limit);
    return limit.take() ? 0 : limit.secondsUntilNext();
  }
}

/** Maximum number of objects in the cache. An evicted object may enqueue keys at once. */
const maxThrottledObjects = 10_000;

/** Delay before the retry of an error that only a change can fix. */
const afterChangeRetrySeconds = 600;
/** Longest delay that another system can request: the interval of a rate limit. */
const maxRetryAfterSeconds = 3600;
/** Maximum number of keys in the cache. The same error of an evicted key may be logged again. */
const maxLoggedProblems = 10_000;
/** First delay after a conflict: the cached object is slightly out of date, which is not an error. */
const conflictBackoffSeconds = 0.2;

/**
 * Fills a queue with the keys of its sources and reconciles each key. The error determines when a key returns: after a
 * conflict soon and without a log line, after an `after-change` error in ten minutes, after any other error with
 * exponential backoff.
 */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Log;
  readonly #queue: WorkQueue;
  /** The last error message of each key, so that the same message is not logged repeatedly. */
  readonly #loggedFailures = new LruMap<string, string>(maxLoggedProblems);

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
    const observer = options.observer?.queue(options.name);
    this.#queue = new WorkQueue({
      clock: options.clock,
      concurrency: options.concurrency ?? 8,
      ...(options.lowPriorityConcurrency && { lowPriorityConcurrency: options.lowPriorityConcurrency }),
      ...(options.groups && { groups: toGroupOptions(options.groups) }),
      ...(options.random && { random: options.random }),
      ...(observer && { observer }),
    });
  }

  /** Enqueues a key from outside of the sources, immediately or after a delay. */
  enqueue(key: ObjectKey, afterSeconds = 0): void {
    this.#queue.add(formatObjectKey(key), afterSeconds);
  }

  /**
   * Waits until all sources have synced, then reconciles until the signal aborts. Returns when the active reconciles
   * have ended, or `drainSeconds` later. Never throws.
   */
  async start(signal: AbortSignal): Promise<void> {
    // Objects that existed before this process started have low priority: they have not changed.
    let isSynced = false;
    const stops = this.#options.sources.map((s) =>
      s.subscribe((key, priority, afterSeconds = 0) =>
        this.#queue.add(formatObjectKey(key), afterSeconds, isSynced ? priority : 'low'),
      ),
    );
    try {
      await untilAborted(Promise.all(this.#options.sources.map((s) => s.synced)), signal);
      if (signal.aborted) return;
      isSynced = true;
      this.#log.info({}, 'controller starts');
      const left = await this.#queue.run(
        (key) => this.#runWorker(key, signal),
        signal,
        this.#options.drainSeconds ?? 10,
      );
      if (left.length > 0) this.#log.error({ keys: left }, 'reconciles did not end in time');
      else this.#log.info({}, 'controller has ended');
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #runWorker(key: string, signal: AbortSignal): Promise<void> {
    const { clock, observer } = this.#options;
    const startedAt = clock.monotonic();
    const log = this.#log.child({ key, reconcile: randomUUID().slice(0, 8) });
    observer?.active(this.name, this.#queue.working);
    const outcome = await this.#attempt(key, signal, log);
    observer?.reconciled(this.name, outcome, (clock.monotonic() - startedAt) / 1000);
    observer?.active(this.name, this.#queue.working - 1);
  }

  async #attempt(key: string, signal: AbortSignal, log: Log): Promise<ReconcileOutcome> {
    const reconcile = (limit: AbortSignal) => this.#options.reconcile(parseObjectKey(key), { signal: limit, log });
    try {
      const result = await withDeadline(this.#options.deadlineSeconds ?? 300, signal, reconcile);
      this.#logSuccess(key, log);
      this.#queue.forget(key);
      if (result?.requeueAfterSeconds === undefined) return 'success';
      this.#queue.add(key, result.requeueAfterSeconds);
      return 'requeue_after';
    } catch (error) {
      if (signal.aborted) return 'requeue';
      return this.#failed(key, error, log);
    }
  }

  #failed(key: string, error: unknown, log: Log): ReconcileOutcome {
    if (isConflict(error)) {
      // The change that triggered this reconcile is still pending, hence the high priority.
      this.#queue.retry(key, { baseSeconds: conflictBackoffSeconds, priority: 'high' });
      log.debug({}, 'another client has changed the object first');
      return 'requeue';
    }
    const atLeastSeconds = this.#options.retryAfterOf?.(error) ?? retryAfterSecondsOf(error);
    if (error instanceof ProviderError && error.retry === 'after-change') {
      this.#queue.forget(key);
      this.#queue.add(key, Math.max(afterChangeRetrySeconds, atLeastSeconds ?? 0));
      this.#logFailure(key, error, log);
      return 'requeue_after';
    }
    const failures = this.#queue.retry(key, { minSeconds: atLeastSeconds });
    if (isProgramError(error)) {
      this.#loggedFailures.set(key, String(error));
      log.error({ err: error, failures }, 'reconcile failed');
    } else this.#warn(key, error, failures, log);
    return 'error';
  }

  /** Logs the end of failures that were logged. */
  #logSuccess(key: string, log: Log): void {
    const after = this.#loggedFailures.get(key);
    if (after === undefined) return;
    this.#loggedFailures.delete(key);
    log.info({ after }, 'reconcile succeeds again');
  }

  /** Logs each new error message once. */
  #logFailure(key: string, error: ProviderError, log: Log): void {
    if (this.#loggedFailures.get(key) === error.message) return;
    this.#loggedFailures.set(key, error.message);
    log.warn({ code: error.code, error: error.message }, 'needs a change');
  }

  /** Warns at the first failure in a row and at every tenth, because a transient error may persist. */
  #warn(key: string, error: unknown, failures: number, log: Log): void {
    const message = error instanceof Error ? error.message : String(error);
    const fields = { error: message, failures };
    if (failures % 10 === 1) {
      this.#loggedFailures.set(key, message);
      log.warn(fields, 'reconcile is waiting');
    } else log.debug(fields, 'reconcile is waiting');
  }
}

const toGroupOptions = ({ groupOf, limitsSlowGroups }: NonNullable<ControllerOptions['groups']>): GroupOptions => ({
  groupOf: (key) => groupOf(parseObjectKey(key)),
  ...(limitsSlowGroups === undefined ? {} : { limitsSlowGroups }),
});

/** Whether an error is a bug of this program. */
function isProgramError(error: unknown): boolean {
  if (error instanceof ProviderError) return error.retry === 'bug';
  return !isServerCondition(error) && !(error instanceof DOMException);
}

/** Returns the delay that another system requests, or undefined when it is not a finite number. */
function retryAfterSecondsOf(error: unknown): number | undefined {
  if (!(error instanceof ProviderError) && !(error instanceof KubeError)) return undefined;
  const seconds: unknown = error.retryAfterSeconds;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return undefined;
  return Math.min(seconds, maxRetryAfterSeconds);
}

/** Resolves when `work` resolves or when the signal aborts, whichever comes first. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve, reject) => {
    const done = () => {
      signal.removeEventListener('abort', done);
      resolve();
    };
    signal.addEventListener('abort', done, { once: true });
    work.then(done, reject);
  });
}
