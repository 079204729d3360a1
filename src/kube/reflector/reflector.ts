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
  /** How it is called in logs, probes and metrics; default: the plural of its kind. */
  readonly name?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
  /** After about so much time every object is reported again; default 600. Infinity: never. */
  readonly resyncSeconds?: number;
  /** A watch is opened anew after so much time, and twice as much at most; default 300. */
  readonly watchSeconds?: number;
  /** Silence after which a watch is opened anew; default 180. */
  readonly idleSeconds?: number;
  readonly indexes?: Indexes<T>;
  /** More are not kept, but listed anew; default: as many as a list may have. */
  readonly mostObjects?: number;
  readonly observer?: ReflectorObserver;
}

/** Learns how the reflector of that name is doing. */
export interface ReflectorObserver {
  listed(name: string, objects: number): void;
  watched(name: string): void;
  event(name: string, objects: number): void;
  failed(name: string, reason: string): void;
}

/** The truth about a reflector, for probes and metrics. */
export interface ReflectorHealth {
  readonly isStarted: boolean;
  readonly isSynced: boolean;
  readonly objects: number;
  /** Failures in a row; 0 while all is well. */
  readonly failures: number;
  readonly lastError: string | undefined;
  readonly lastEventAt: Date | undefined;
  readonly lastListAt: Date | undefined;
  /** Seconds since the last event, bookmark or list, or since the start when there was none. */
  readonly silentSeconds: number;
}

/** So much silence, through however many watches, and a list has to tell whether something was missed. */
const relistAfterSilentSeconds = 600;
/** A watch that ends sooner than this, with nothing in it, did not work. */
const minWatchSeconds = 1;
/** Failures in a row after which the version we hold is not trusted any more. */
const failuresBeforeRelist = 3;
const backoff = { baseSeconds: 0.5, capSeconds: 30 };
/** A server may ask for a longer pause than our own, up to this. */
const maxRetryAfterSeconds = 120;

/** Who wrote which field is as large as the object itself, and nobody asks a cache for it. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}

/**
 * A live copy of all objects of one kind: a list, then watches without end. It survives refusals, silence, early ends,
 * compaction and nonsense; it never throws, and it never asks more often than its back-off allows.
 */
export class Reflector<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly name: string;
  /** Resolves with the first complete list. It stays pending when there never is one. */
  readonly synced: Promise<void>;
  readonly #client: KubeClient;
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #store: ObjectStore<T>;
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>();
  #announceSync: () => void = () => {};
  #isStarted = false;
  #isSynced = false;
  #failures = 0;
  #lastError: string | undefined;
  #lastEventAt: Date | undefined;
  #lastListAt: Date | undefined;
  #newsAt: number;
  #version: string | undefined;

  constructor(client: KubeClient, type: ResourceType<T>, options: ReflectorOptions<T>) {
    this.#client = client;
    this.type = type;
    this.name = options.name ?? type.plural;
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#store = new ObjectStore(options.indexes);
    this.#newsAt = this.#clock.monotonic();
    this.synced = new Promise((resolve) => {
      this.#announceSync = resolve;
    });
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The object as last seen. Frozen: clone it to change it. */
  get(key: ObjectKey): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  /** The objects that the index files under `value`. Throws when there is no such index. */
  by(index: string, value: string): readonly T[] {
    return this.#store.by(index, value);
  }

  /**
   * Listeners hear of a change after the store has it; with `replay` they first hear of everything known as `added`.
   * They must be quick; what they throw is logged. Returns how to stop.
   */
  onChange(listener: (change: ObjectChange<T>) => void, options: { replay?: boolean } = {}): () => void {
    this.#listeners.add(listener);
    if (options.replay) for (const object of this.#store.list()) this.#tellOne(listener, { kind: 'added', object });
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
      silentSeconds: (this.#clock.monotonic() - this.#newsAt) / 1000,
    };
  }

  /** Runs until the signal ends. The store stays readable afterwards, and grows old. */
  async start(signal: AbortSignal): Promise<void> {
    this.#isStarted = true;
    this.#newsAt = this.#clock.monotonic();
    await Promise.all([this.#follow(signal), this.#resync(signal)]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAt = this.#clock.monotonic();
      try {
        if (this.#version === undefined) await this.#relist(signal);
        await this.#watch(signal);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, startedAt, signal);
      }
    }
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await this.#client.list(this.type, this.#options, signal);
    if (signal.aborted) return;
    if (items.length > (this.#options.mostObjects ?? platformClusterLimits.listItems))
      throw tooManyObjectsError(this.name, items.length);
    this.#version = resourceVersion;
    this.#lastListAt = this.#clock.now();
    this.#newsAt = this.#clock.monotonic();
    for (const change of this.#store.replace(items.map(withoutManagedFields))) this.#tell(change);
    this.#options.observer?.listed(this.name, items.length);
    if (this.#isSynced) return;
    this.#isSynced = true;
    this.#announceSync();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const startedAt = this.#clock.monotonic();
    const { idleSeconds = 180, watchSeconds = 300 } = this.#options;
    const timeoutSeconds = watchSeconds * (1 + this.#random());
    const resourceVersion = this.#version ?? '';
    let heard = false;
    const take = (event: WatchEvent<T>): void => {
      if (signal.aborted) return;
      heard = true;
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
    const lived = (this.#clock.monotonic() - startedAt) / 1000;
    if (!heard && lived < minWatchSeconds) throw shortWatchError(this.name);
    this.#failures = 0;
    if (this.health.silentSeconds >= relistAfterSilentSeconds) this.#version = undefined;
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#version = object.metadata.resourceVersion ?? this.#version;
    this.#failures = 0;
    this.#lastEventAt = this.#clock.now();
    this.#newsAt = this.#clock.monotonic();
    if (type !== 'BOOKMARK') {
      const kept = withoutManagedFields(object);
      const changes = type === 'DELETED' ? this.#store.drop(objectKeyOf(object), kept) : this.#store.put(kept);
      for (const change of changes) this.#tell(change);
      if (this.#store.size > (this.#options.mostObjects ?? platformClusterLimits.listItems)) throw this.#overfull();
    }
    this.#options.observer?.event(this.name, this.#store.size);
  }

  /** What is known is out of all proportion: only a list, which is bounded itself, is believed now. */
  #overfull(): KubeError {
    this.#version = undefined;
    const message = `the watch of ${this.name} tells of more than ${this.#store.size - 1} objects`;
    return new KubeError({ status: 0, reason: 'AnswerTooLong', message });
  }

  async #recover(error: unknown, startedAt: number, signal: AbortSignal): Promise<void> {
    // What held for longer than we would wait at most begins with a clean slate.
    if (this.#clock.monotonic() - startedAt > backoff.capSeconds * 1000) this.#failures = 0;
    this.#failures += 1;
    this.#lastError = error instanceof Error ? error.message : String(error);
    if (isGone(error) || this.#failures % failuresBeforeRelist === 0) this.#version = undefined;
    this.#options.observer?.failed(this.name, error instanceof KubeError ? error.reason : 'Internal');
    const asked = error instanceof KubeError ? Math.min(error.retryAfterSeconds ?? 0, maxRetryAfterSeconds) : 0;
    const seconds = Math.max(asked, backoffSeconds(this.#failures, { ...backoff, random: this.#random }));
    const fields = { reflector: this.name, failures: this.#failures, seconds, error: this.#lastError };
    if (this.#failures % 10 === 1 && !isGone(error)) this.#options.log.warn(fields, 'watching is interrupted');
    else this.#options.log.debug(fields, 'watching is interrupted');
    await this.#pause(seconds, signal);
  }

  async #resync(signal: AbortSignal): Promise<void> {
    const seconds = this.#options.resyncSeconds ?? 600;
    if (seconds === Number.POSITIVE_INFINITY) return;
    while (!signal.aborted) {
      await this.#pause(seconds * (0.9 + 0.2 * this.#random()), signal);
      if (signal.aborted) return;
      for (const object of this.#store.list()) this.#tell({ kind: 'resync', object, before: object });
    }
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) this.#tellOne(listener, change);
  }

  #tellOne(listener: (change: ObjectChange<T>) => void, change: ObjectChange<T>): void {
    try {
      listener(change);
    } catch (error) {
      this.#options.log.error({ reflector: this.name, err: error, change: change.kind }, 'a listener threw');
    }
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // Rejects only when the signal aborts, which every loop looks at next.
    await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}

function tooManyObjectsError(name: string, objects: number): KubeError {
  return new KubeError({ status: 0, reason: 'AnswerTooLong', message: `the list of ${name} has ${objects} objects` });
}

function shortWatchError(name: string): KubeError {
  return new KubeError({ status: 0, reason: 'ShortWatch', message: `the watch of ${name} ended at once` });
}
