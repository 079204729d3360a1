import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { hasCode } from '../errors.ts';
import type { TrueNasClient } from './client.ts';
import { receiveLimits } from './receive-limits.ts';
import type { Rpc } from './rpc.ts';
import { CollectionUpdate } from './schema.ts';

/**
 * Collections with events about machines and their storage. A subscription requires the role of the query of the same
 * name (middleware: service/crud_service.py). Pools are left out: 26 sends no events about their health.
 */
const watchedCollections: readonly string[] = ['vm.query', 'vm.device.query', 'pool.dataset.query'];

/** One change causes several events, which are collected for this time. */
const debounceMs = 1000;
/** Shortest time between two notifications. */
const minNotifyIntervalMs = 10_000;
/** Events of our own call follow its answer within this time. */
const echoMs = 5000;
/** The same for a guest shutdown, which takes longer. */
const stopEchoMs = 120_000;
/** Retry interval of a failed subscription. */
const subscribeRetryMs = 60_000;

/**
 * Notifies listeners that another client has changed something on a system, without details: events are hints, and some
 * lack half of their fields. Changes without a connection cause no events, so a new connection counts as a change.
 * Nothing is subscribed to without a listener.
 *
 * The events of our own changes are recognised by the object of the call and ignored. Events about new objects are
 * ignored, too: they concern nothing that existed before.
 */
export class ChangeEvents {
  readonly #nas: TrueNasClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  /** Objects of our own calls, and until when their events are ignored. */
  readonly #ours = new Map<string, number>();
  /** Collections that the user may not subscribe to. */
  readonly #refused = new Set<string>();
  #rpc: Rpc | undefined;
  #subscribed: Rpc | undefined;
  #isGathering = false;
  #lastEventAt = Number.NEGATIVE_INFINITY;
  #quietSince = Number.NEGATIVE_INFINITY;

  constructor(nas: TrueNasClient, clock: Clock, log: Log) {
    this.#nas = nas;
    this.#clock = clock;
    this.#log = log;
  }

  /** Calls `listener` after changes, until the returned function is called. It must not throw. */
  listen(listener: () => void): () => void {
    // The same function may be registered twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#subscribe();
    return () => this.#listeners.delete(own);
  }

  /** By the monotonic clock: since then the connection has been open without a foreign change. */
  get quietSince(): number {
    return this.#quietSince;
  }

  /** Called when a connection was opened. */
  opened(rpc: Rpc): void {
    this.#quietSince = this.#clock.monotonic();
    this.#rpc = rpc;
    this.#subscribe();
  }

  /** Called when a connection has ended. When it broke, listeners have to check whether the system is still there. */
  ended({ onBroken }: { readonly onBroken: boolean }): void {
    this.#quietSince = this.#clock.monotonic();
    if (onBroken && this.#listeners.size > 0) this.#changed();
  }

  /** Called before one of our own changes. The returned function is called after it. */
  begin(method: string, params: readonly unknown[]): () => void {
    const [about] = params;
    if (typeof about !== 'number' && typeof about !== 'string') return () => {};
    const keys = ownCallKeys(method, about);
    for (const key of keys) this.#ours.set(key, Number.POSITIVE_INFINITY);
    return () => {
      const now = this.#clock.monotonic();
      for (const [old, until] of this.#ours) if (until < now) this.#ours.delete(old);
      for (const key of keys) this.#ours.set(key, now + (method === 'vm.stop' ? stopEchoMs : echoMs));
    };
  }

  /** Handles a notification of the server. */
  receive(method: string, params: unknown): void {
    if (method !== 'collection_update' || this.#listeners.size === 0) return;
    const update = CollectionUpdate.safeParse(params);
    if (!update.success) return;
    const { collection, msg, id } = update.data;
    if (!watchedCollections.includes(collection) || msg === 'added' || isSnapshot(id)) return;
    // An id this long is no name of ours.
    const isName = typeof id !== 'string' || id.length <= receiveLimits.nameCharacters;
    const now = this.#clock.monotonic();
    const isOurs = (key: string) => now <= (this.#ours.get(key) ?? Number.NEGATIVE_INFINITY);
    if (isName && eventKeys(collection, id).some(isOurs)) return;
    this.#changed();
  }

  #subscribe(): void {
    const rpc = this.#rpc;
    if (!rpc?.open || this.#subscribed === rpc || this.#listeners.size === 0) return;
    this.#subscribed = rpc;
    this.#subscribeAll().then(
      // Changes before the subscription caused no events.
      () => this.#changed(),
      (error: unknown) => this.#subscribeLater(rpc, error),
    );
  }

  async #subscribeAll(): Promise<void> {
    const signal = this.#nas.over;
    for (const collection of watchedCollections.filter((one) => !this.#refused.has(one))) {
      try {
        await this.#nas.subscribe(collection, { signal });
      } catch (error) {
        if (!hasCode(error, 'TRUENAS_ROLE_MISSING')) throw error;
        this.#refused.add(collection);
        const { host } = this.#nas;
        this.#log.info(
          { host, collection },
          'TrueNAS does not tell this user of changes, which are looked for instead',
        );
      }
    }
  }

  #subscribeLater(rpc: Rpc, error: unknown): void {
    const signal = this.#nas.over;
    if (signal.aborted) return;
    this.#log.debug({ host: this.#nas.host, err: error }, 'changes on TrueNAS could not be subscribed to');
    const again = () => {
      if (this.#subscribed === rpc) this.#subscribed = undefined;
      this.#subscribe();
    };
    // The sleep is aborted at shutdown only.
    this.#clock.sleep(subscribeRetryMs, signal).then(again, () => {});
  }

  /** Invalidates cached answers at once, and notifies the listeners after the delay. */
  #changed(): void {
    this.#quietSince = this.#clock.monotonic();
    this.#nas.shared.forget();
    if (this.#isGathering) return;
    this.#isGathering = true;
    const restLeftMs = this.#lastEventAt + minNotifyIntervalMs - this.#clock.monotonic();
    this.#clock.sleep(Math.max(debounceMs, restLeftMs), this.#nas.over).then(
      () => {
        this.#isGathering = false;
        this.#lastEventAt = this.#clock.monotonic();
        for (const listener of [...this.#listeners]) listener();
      },
      () => {},
    );
  }
}

const eventKey = (collection: string, id: unknown): string => `${collection} ${id}`;

/**
 * The objects of a call. Deleting a machine also deletes its devices, whose ids are unknown here; deleting a dataset
 * also deletes its descendants.
 */
function ownCallKeys(method: string, about: number | string): string[] {
  const own = eventKey(`${method.slice(0, method.lastIndexOf('.'))}.query`, about);
  if (method === 'vm.delete') return [own, eventKey('vm.device.query', anyId)];
  return method === 'pool.dataset.delete' ? [own, `${own}/`] : [own];
}

const anyId = '*';

/** The keys by which an event can belong to one of our calls. */
function eventKeys(collection: string, id: unknown): string[] {
  const own = eventKey(collection, id);
  const above = [...own.matchAll(/\//g)].map(({ index }) => own.slice(0, index + 1));
  return [own, eventKey(collection, anyId), ...above];
}

/** The removal of a snapshot arrives like that of a dataset (middleware: plugins/zfs_/zfs_events.py). */
const isSnapshot = (id: unknown): boolean => typeof id === 'string' && id.includes('@');
