import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { backoffSeconds } from '../../lib/resilience/backoff.ts';
import type { KubeClient } from '../client/client.ts';
import type { ListOptions, WatchOptions } from '../client/client-types.ts';
import type { WatchEvent } from '../client/watch-event.ts';
import { isGone, KubeError } from '../errors.ts';
import type { KubeObject, ObjectKey, ResourceType } from '../resource.ts';
import { objectKeyOf } from '../resource.ts';
import { platformClusterLimits } from '../transport/response-limits.ts';
import { type Indexes, type ObjectChange, ObjectStore } from './object-store.ts';

export interface ReflectorOptions<T> extends ListOptions, Pick<WatchOptions, 'bookmarks'> {
  /** Name in logs, probes and metrics; default: the plural of the kind. */
  readonly name?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
  /** Every object is reported again after about this time; default 600. Infinity: never. */
  readonly resyncSeconds?: number;
  /** A watch is renewed after this time, and after twice this time at most; default 300. */
  readonly watchSeconds?: number;
  /** A watch is renewed after this time without an event; default 180. */
  readonly idleSeconds?: number;
  readonly indexes?: Indexes<T>;
  /** Maximum number of stored objects; beyond it the reflector lists again. Default: the limit of a list. */
  readonly maxObjects?: number;
  /** Throws if a list must not replace what is known. The list then counts as a failure, and is made again later. */
  readonly checkList?: (listed: readonly T[], known: readonly T[]) => void;
  readonly observer?: ReflectorObserver;
}

/** Records metrics of the reflector with the given name. */
export interface ReflectorObserver {
  listed(name: string, objects: number): void;
  watched(name: string): void;
  event(name: string, objects: number): void;
  failed(name: string, reason: string): void;
}

/** State of a reflector, for probes and metrics. */
export interface ReflectorHealth {
  readonly isStarted: boolean;
  readonly isSynced: boolean;
  readonly objects: number;
  /** Failures in a row; 0 while the watch works. */
  readonly failures: number;
  readonly lastError: string | undefined;
  readonly lastEventAt: Date | undefined;
  readonly lastListAt: Date | undefined;
  /** Seconds since the last event, bookmark or list, or since the start when there was none. */
  readonly silentSeconds: number;
}

/** After this time without an event, over any number of watches, a list checks for missed events. */
const relistAfterSilentSeconds = 600;
/** A watch that ends sooner than this without an event counts as a failure. */
const minWatchSeconds = 1;
/** Failures in a row after which the reflector lists again instead of using its resource version. */
const failuresBeforeRelist = 3;
const backoff = { baseSeconds: 0.5, capSeconds: 30 };
/** Longest delay that an API server can request. */
const maxRetryAfterSeconds = 120;

/** Removes the managed fields, which are as large as the rest of the object and which no reader of the cache uses. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}

/**
 * A cache of all objects of one kind: a list, then consecutive watches. It survives error responses, silence, early
 * ends of watches, compaction and invalid data. It never throws and never exceeds its backoff.
 */
export class Reflector<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly name: string;
  /** Resolves with the first complete list; stays pending until then. */
  readonly synced: Promise<void>;
  readonly #client: KubeClient;
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #store: ObjectStore<T>;
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>();
  #emitSync: () => void = () => {};
  #isStarted = false;
  #isSynced = false;
  #failures = 0;
  /** A failure was logged, and its end was not. */
  #isLogged = false;
  #lastError: string | undefined;
  #lastEventAt: Date | undefined;
  #lastListAt: Date | undefined;
  #lastChangeAt: number;
  #version: string | undefined;
  /** The connection was lost, so the server may have come back with older data. */
  #isVersionUncertain = false;

  constructor(client: KubeClient, type: ResourceType<T>, options: ReflectorOptions<T>) {
    this.#client = client;
    this.type = type;
    this.name = options.name ?? type.plural;
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#store = new ObjectStore(options.indexes);
    this.#lastChangeAt = this.#clock.monotonic();
    this.synced = new Promise((resolve) => {
      this.#emitSync = resolve;
    });
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The object as last observed. It is frozen: clone it before a change. */
  get(key: ObjectKey): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  /** Adds an index of the known objects and all later ones. Throws for a name that is in use. */
  addIndex(name: string, index: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, index);
  }

  /** The objects with this value in the index. Throws for an unknown index. */
  by(index: string, value: string): readonly T[] {
    return this.#store.by(index, value);
  }

  /**
   * Calls the listener for each change, after the store is updated. With `replay` it first reports every known object
   * as `added`. A listener must be quick; an error from it is logged. Returns a function that unsubscribes.
   */
  onChange(listener: (change: ObjectChange<T>) => void, options: { replay?: boolean } = {}): () => void {
    this.#listeners.add(listener);
    if (options.replay) for (const object of this.#store.list()) this.#emitTo(listener, { kind: 'added', object });
    return () => this.#listeners.delete(listener);
  }

  get health(): ReflectorHealth {
    return {
      isStarted: this.#isStarted,
      isSynced: this.#isSynced,
      objects: this.#store.size,
      failures: this.#failures,
      lastError: this.#lastError,
      lastEventAt: this.#lastEventAt,
      lastListAt: this.#lastListAt,
      silentSeconds: (this.#clock.monotonic() - this.#lastChangeAt) / 1000,
    };
  }

  /** Runs until the signal aborts. The store stays readable afterwards, but is not updated. */
  async start(signal: AbortSignal): Promise<void> {
    this.#isStarted = true;
    this.#lastChangeAt = this.#clock.monotonic();
    await Promise.all([this.#follow(signal), this.#resync(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAt = this.#clock.monotonic();
      try {
        if (this.#isVersionUncertain && this.#version !== undefined) await this.#checkVersion(this.#version, signal);
        if (this.#version === undefined) await this.#relist(signal);
        await this.#watch(signal);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, startedAt, signal);
      }
    }
  }

  /**
   * A server whose etcd was restored from a backup begins again at an older resource version. It accepts a watch from a
   * later one, and sends no event until it has reached that.
   */
  async #checkVersion(known: string, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = await this.#client.list(this.type, { ...this.#options, maxItems: 1 }, signal);
    this.#isVersionUncertain = false;
    if (!isOlder(resourceVersion, known)) return;
    this.#options.log.warn(
      { reflector: this.name, known, resourceVersion },
      'the API server has older data than before',
    );
    this.#version = undefined;
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await this.#client.list(this.type, this.#options, signal);
    if (signal.aborted) return;
    if (items.length > (this.#options.maxObjects ?? platformClusterLimits.listItems))
      throw tooManyObjectsError(this.name, items.length);
    this.#options.checkList?.(items, this.#store.list());
    this.#version = resourceVersion;
    this.#isVersionUncertain = false;
    this.#lastListAt = this.#clock.now();
    this.#lastChangeAt = this.#clock.monotonic();
    for (const change of this.#store.replace(items.map(withoutManagedFields))) this.#emit(change);
    this.#options.observer?.listed(this.name, items.length);
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#emitSync();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const startedAt = this.#clock.monotonic();
    const { idleSeconds = 180, watchSeconds = 300 } = this.#options;
    const timeoutSeconds = watchSeconds * (1 + this.#random());
    const resourceVersion = this.#version ?? '';
    let received = false;
    const take = (event: WatchEvent<T>): void => {
      if (signal.aborted) return;
      received = true;
      this.#take(event);
    };
    this.#options.observer?.watched(this.name);
    await this.#client.watch(
      this.type,
      { ...this.#options, resourceVersion, timeoutSeconds, idleSeconds },
      take,
      signal,
    );
    if (signal.aborted) return;
    const streamSeconds = (this.#clock.monotonic() - startedAt) / 1000;
    if (!received && streamSeconds < minWatchSeconds) throw shortWatchError(this.name);
    this.#endFailures();
    if (this.health.silentSeconds >= relistAfterSilentSeconds) this.#version = undefined;
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#version = object.metadata.resourceVersion ?? this.#version;
    this.#endFailures();
    this.#lastEventAt = this.#clock.now();
    this.#lastChangeAt = this.#clock.monotonic();
    if (type !== 'BOOKMARK') {
      const kept = withoutManagedFields(object);
      const changes = type === 'DELETED' ? this.#store.drop(objectKeyOf(object), kept) : this.#store.put(kept);
      for (const change of changes) this.#emit(change);
      if (this.#store.size > (this.#options.maxObjects ?? platformClusterLimits.listItems)) throw this.#isOverLimit();
    }
    this.#options.observer?.event(this.name, this.#store.size);
  }

  /** The store exceeds its limit: only a list, which is bounded itself, restores a valid state. */
  #isOverLimit(): KubeError {
    this.#version = undefined;
    const message = `the watch of ${this.name} has more than ${this.#store.size - 1} objects`;
    return new KubeError({ status: 0, reason: 'AnswerTooLong', message });
  }

  /** Logs the end of failures that were logged. */
  #endFailures(): void {
    this.#failures = 0;
    if (!this.#isLogged) return;
    this.#isLogged = false;
    this.#options.log.info({ reflector: this.name }, 'watch works again');
  }

  async #recover(error: unknown, startedAt: number, signal: AbortSignal): Promise<void> {
    // A watch that lasted longer than the longest delay resets the failures.
    if (this.#clock.monotonic() - startedAt > backoff.capSeconds * 1000) this.#failures = 0;
    this.#failures += 1;
    this.#lastError = error instanceof Error ? error.message : String(error);
    if (isGone(error) || this.#failures % failuresBeforeRelist === 0) this.#version = undefined;
    if (isConnectionLost(error)) this.#isVersionUncertain = true;
    this.#options.observer?.failed(this.name, error instanceof KubeError ? error.reason : 'Internal');
    const retryAfter = error instanceof KubeError ? Math.min(error.retryAfterSeconds ?? 0, maxRetryAfterSeconds) : 0;
    const seconds = Math.max(retryAfter, backoffSeconds(this.#failures, { ...backoff, random: this.#random }));
    const fields = { reflector: this.name, failures: this.#failures, seconds, error: this.#lastError };
    if (this.#failures % 10 === 1 && !isGone(error)) {
      this.#isLogged = true;
      this.#options.log.warn(fields, 'watch failed');
    } else this.#options.log.debug(fields, 'watch failed');
    await this.#pause(seconds, signal);
  }

  async #resync(signal: AbortSignal): Promise<void> {
    const seconds = this.#options.resyncSeconds ?? 600;
    if (seconds === Number.POSITIVE_INFINITY) return;
    while (!signal.aborted) {
      await this.#pause(seconds * (0.9 + 0.2 * this.#random()), signal);
      if (signal.aborted) return;
      for (const object of this.#store.list()) this.#emit({ kind: 'resync', object, before: object });
    }
  }

  #emit(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) this.#emitTo(listener, change);
  }

  #emitTo(listener: (change: ObjectChange<T>) => void, change: ObjectChange<T>): void {
    try {
      listener(change);
    } catch (error) {
      this.#options.log.error({ reflector: this.name, err: error, change: change.kind }, 'a listener failed');
    }
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // The sleep rejects only when the signal aborts, which every loop checks next.
    await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}

/** Resource versions can be compared as numbers if both are numbers (KEP-5504). */
function isOlder(version: string, known: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(known) && BigInt(version) < BigInt(known);
}

/** Also when the stream breaks in the middle, which is no error response. */
const isConnectionLost = (error: unknown): boolean =>
  !(error instanceof KubeError) || ['Unreachable', 'DeadlineExceeded'].includes(error.reason);

function tooManyObjectsError(name: string, objects: number): KubeError {
  return new KubeError({ status: 0, reason: 'AnswerTooLong', message: `the list of ${name} has ${objects} objects` });
}

function shortWatchError(name: string): KubeError {
  return new KubeError({ status: 0, reason: 'ShortWatch', message: `the watch of ${name} ended immediately` });
}
