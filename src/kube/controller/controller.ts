import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { isConflict, isForbidden, isRetryable, KubeError } from '../errors.ts';
import type { ObjectChange } from '../reflector/object-store.ts';
import type { Reflector } from '../reflector/reflector.ts';
import { formatObjectKey, type KubeObject, type ObjectKey, objectKeyOf, parseObjectKey } from '../resource.ts';
import type { GroupOptions } from './group-limiter.ts';
import type { Priority } from './priority-queue.ts';
import { type QueueObserver, WorkQueue } from './work-queue.ts';

/** What a reconcile may say: look at the object again after so much time. Nothing said: when something changes. */
export interface ReconcileResult {
  readonly againInSeconds?: number;
}

/** What a reconcile may use besides the key. */
export interface ReconcileContext {
  /** Ends every call in time: aborted at the reconcile's deadline, on shutdown and on lost leadership. */
  readonly signal: AbortSignal;
  /** Carries `controller`, `key` and an id for this one run. */
  readonly log: Log;
}

/** Something whose changes lead to keys. Made by {@link createKeySource}. */
export interface KeySource {
  readonly synced: Promise<void>;
  /**
   * Hands on the keys of everything known, and every key from now on; returns how to stop. Patient: nothing happened, it is
   * time to look again.
   */
  subscribe(enqueue: (key: ObjectKey, lane: Priority, afterSeconds?: number) => void): () => void;
}

/** How a reconcile ended, in controller-runtime's words. */
export type ReconcileOutcome = 'success' | 'requeue_after' | 'requeue' | 'error';

/** Learns what a controller does. */
export interface ControllerObserver {
  /** Called once for each controller; its queue reports there. */
  queue(controller: string): QueueObserver;
  reconciled(controller: string, outcome: ReconcileOutcome, seconds: number): void;
  /** Workers that are busy right now. */
  active(controller: string, workers: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Keys worked on at the same time; default 8. */
  readonly concurrency?: number;
  /** As many of these may be for keys that nobody waits for; default: all. */
  readonly patientConcurrency?: number;
  /** Keys that may hold each other up, and no others. */
  readonly groups?: { groupOf(key: ObjectKey): string; readonly curbsSlow?: boolean };
  /** Longest time one reconcile may take; default 300. */
  readonly deadlineSeconds?: number;
  /** Longest wait, after the end, for reconciles under way; default 10. */
  readonly drainSeconds?: number;
  readonly random?: () => number;
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconcile with nothing to say just ends.
  reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult | void>;
  readonly sources: readonly KeySource[];
  /** How long an error asks us to wait; by default its own `retryAfterSeconds`. */
  retryAfterOf?(error: unknown): number | undefined;
  readonly observer?: ControllerObserver;
}

/**
 * Keys of the objects that a change concerns. Called in the middle of the event stream: quick, pure, never throwing.
 * For `updated`, compare with `change.before` and return nothing where the change does not matter (e.g. a status that
 * we wrote ourselves). `rest`: one object wakes others no more often than each so many seconds, however often it changes.
 */
export function createKeySource<T extends KubeObject>(
  reflector: Pick<Reflector<T>, 'synced' | 'onChange'>,
  keys: (change: ObjectChange<T>) => readonly ObjectKey[],
  rest?: { readonly clock: Pick<Clock, 'monotonic'>; readonly seconds: number },
): KeySource {
  return {
    synced: reflector.synced,
    subscribe: (enqueue) => {
      const rests = rest && new WakeThrottle(rest);
      const wake = (change: ObjectChange<T>) => {
        const lane = change.kind === 'resync' ? 'patient' : 'prompt';
        const all = keys(change);
        const afterSeconds =
          all.length > 0 && lane === 'prompt' ? rests?.take(formatObjectKey(objectKeyOf(change.object))) : 0;
        for (const key of all) enqueue(key, lane, afterSeconds);
      };
      return reflector.onChange(wake, { replay: true });
    },
  };
}

/** When each object has last woken others. */
class WakeThrottle {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #seconds: number;
  readonly #last = new LruMap<string, number>(maxThrottledObjects);

  constructor({ clock, seconds }: { readonly clock: Pick<Clock, 'monotonic'>; readonly seconds: number }) {
    this.#clock = clock;
    this.#seconds = seconds;
  }

  /** After how many seconds it may wake others. */
  take(key: string): number {
    const now = this.#clock.monotonic();
    const left = this.#seconds - (now - (this.#last.get(key) ?? Number.NEGATIVE_INFINITY)) / 1000;
    if (left > 0) return left;
    this.#last.set(key, now);
    return 0;
  }
}

/** Of so many objects; one that is forgotten may wake others at once. */
const maxThrottledObjects = 10_000;

/** After an error that only a change can cure, look again all the same after so much time. */
const afterChangeRetrySeconds = 600;
/** As long as another system may have us wait: the interval of a rate limit. */
const maxRetryAfterSeconds = 3600;
/** Of so many keys; of others the same may be logged again. */
const maxLoggedProblems = 10_000;
/** First wait after a conflict: our copy is a moment old, nothing is wrong. */
const conflictBackoffSeconds = 0.2;

/**
 * Sources fill a queue of keys, and `reconcile` makes each one so. Errors decide when a key comes again:
 * a conflict soon and silently; `after-change` in ten minutes; everything else with a growing delay.
 */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Log;
  readonly #queue: WorkQueue;
  /** The last complaint about each key, so that the same one is not logged again and again. */
  readonly #complaints = new LruMap<string, string>(maxLoggedProblems);

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
    const observer = options.observer?.queue(options.name);
    this.#queue = new WorkQueue({
      clock: options.clock,
      concurrency: options.concurrency ?? 8,
      ...(options.patientConcurrency && { patientConcurrency: options.patientConcurrency }),
      ...(options.groups && { groups: toGroupOptions(options.groups) }),
      ...(options.random && { random: options.random }),
      ...(observer && { observer }),
    });
  }

  /** Asks for a key from outside of the sources, now or after some time. */
  enqueue(key: ObjectKey, afterSeconds = 0): void {
    this.#queue.add(formatObjectKey(key), afterSeconds);
  }

  /**
   * Waits until all sources have synced, then works until the signal ends, and returns when the reconciles under way
   * have ended too (or `drainSeconds` later). Never throws.
   */
  async start(signal: AbortSignal): Promise<void> {
    // What was there before us is looked at as it was before us: nothing happened to it.
    let isSynced = false;
    const stops = this.#options.sources.map((s) =>
      s.subscribe((key, lane, afterSeconds = 0) =>
        this.#queue.add(formatObjectKey(key), afterSeconds, isSynced ? lane : 'patient'),
      ),
    );
    try {
      await untilAborted(Promise.all(this.#options.sources.map((s) => s.synced)), signal);
      if (signal.aborted) return;
      isSynced = true;
      this.#log.info({}, 'controller starts');
      const left = await this.#queue.run((key) => this.#work(key, signal), signal, this.#options.drainSeconds ?? 10);
      if (left.length > 0) this.#log.error({ keys: left }, 'reconciles did not end in time');
      else this.#log.info({}, 'controller has ended');
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #work(key: string, signal: AbortSignal): Promise<void> {
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
      this.#queue.forget(key);
      this.#complaints.delete(key);
      if (result?.againInSeconds === undefined) return 'success';
      this.#queue.add(key, result.againInSeconds);
      return 'requeue_after';
    } catch (error) {
      if (signal.aborted) return 'requeue';
      return this.#failed(key, error, log);
    }
  }

  #failed(key: string, error: unknown, log: Log): ReconcileOutcome {
    if (isConflict(error)) {
      // Whoever waits for it still does.
      this.#queue.retry(key, { baseSeconds: conflictBackoffSeconds, lane: 'prompt' });
      log.debug({}, 'somebody else wrote first');
      return 'requeue';
    }
    const atLeastSeconds = this.#options.retryAfterOf?.(error) ?? retryAfterSecondsOf(error);
    if (error instanceof ProviderError && error.retry === 'after-change') {
      this.#queue.forget(key);
      this.#queue.add(key, Math.max(afterChangeRetrySeconds, atLeastSeconds ?? 0));
      this.#complain(key, error, log);
      return 'requeue_after';
    }
    const failures = this.#queue.retry(key, { atLeastSeconds });
    if (isProgramError(error)) log.error({ err: error, failures }, 'reconcile failed');
    else this.#warn(error, failures, log);
    return 'error';
  }

  /** Once for each new sentence. */
  #complain(key: string, error: ProviderError, log: Log): void {
    if (this.#complaints.get(key) === error.message) return;
    this.#complaints.set(key, error.message);
    log.warn({ code: error.code, error: error.message }, 'needs a change');
  }

  /** The first in a row and every tenth: passing trouble that does not pass. */
  #warn(error: unknown, failures: number, log: Log): void {
    const fields = { error: error instanceof Error ? error.message : String(error), failures };
    if (failures % 10 === 1) log.warn(fields, 'reconcile is held up');
    else log.debug(fields, 'reconcile is held up');
  }
}

const toGroupOptions = ({ groupOf, curbsSlow }: NonNullable<ControllerOptions['groups']>): GroupOptions => ({
  groupOf: (key) => groupOf(parseObjectKey(key)),
  ...(curbsSlow === undefined ? {} : { curbsSlow }),
});

/**
 * Whether an error is to be treated as a mistake of this program. To be forbidden something is none: an API server that has
 * just started forbids everything until it has read who may do what, and else it is for whoever installed us.
 */
function isProgramError(error: unknown): boolean {
  if (error instanceof ProviderError) return error.retry === 'bug';
  if (isForbidden(error)) return false;
  return !isRetryable(error) && !(error instanceof DOMException);
}

/** What other systems ask for is only followed where it is a time. */
function retryAfterSecondsOf(error: unknown): number | undefined {
  if (!(error instanceof ProviderError) && !(error instanceof KubeError)) return undefined;
  const seconds: unknown = error.retryAfterSeconds;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) return undefined;
  return Math.min(seconds, maxRetryAfterSeconds);
}

/** Resolves with `work` or with the end of the signal, whichever comes first. */
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
