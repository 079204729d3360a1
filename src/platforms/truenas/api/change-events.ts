import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { hasCode } from '../errors.ts';
import type { TrueNasClient } from './client.ts';
import { receiveLimits } from './receive-limits.ts';
import type { Rpc } from './rpc.ts';
import { CollectionUpdate } from './schema.ts';

/**
 * What tells of machines and of what they stand on. A subscription wants the role of the query that has its name
 * (middleware: service/crud_service.py). The health of pools is left out: 26 does not tell of it.
 */
const watchedCollections: readonly string[] = ['vm.query', 'vm.device.query', 'pool.dataset.query'];

/** One change makes several events: so long they are gathered. */
const debounceMs = 1000;
/** No sooner than that after the last time is anybody told again, whatever goes on. */
const minNotifyIntervalMs = 10_000;
/** The events of a call of ours follow its answer within this time. */
const echoMs = 5000;
/** A guest that is asked to shut down takes its time. */
const stopEchoMs = 120_000;
/** After that long a subscription that failed is tried again. */
const subscribeRetryMs = 60_000;

/**
 * Tells that somebody else changed something on a system, without saying what: events are hints, and some of them lack
 * half of what they are about. What happens while there is no connection is never told, so a new connection counts as a
 * change. Nothing is subscribed to before somebody listens.
 *
 * Our own changes are told back to us as well. They are known by what the call was about, and left out, as is what is
 * new: it concerns nothing that was there.
 */
export class ChangeEvents {
  readonly #nas: TrueNasClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  /** What calls of ours are about, and until when events of it are theirs. */
  readonly #ours = new Map<string, number>();
  /** Those that the user may not subscribe to. */
  readonly #refused = new Set<string>();
  #rpc: Rpc | undefined;
  #subscribed: Rpc | undefined;
  #isGathering = false;
  #toldAt = Number.NEGATIVE_INFINITY;
  #quietSince = Number.NEGATIVE_INFINITY;

  constructor(nas: TrueNasClient, clock: Clock, log: Log) {
    this.#nas = nas;
    this.#clock = clock;
    this.#log = log;
  }

  /** Has `listener` called after changes, until what is returned is called. It must not throw. */
  listen(listener: () => void): () => void {
    // The same function may listen twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#subscribe();
    return () => this.#listeners.delete(own);
  }

  /** By the monotonic clock: since then one connection has stood, and nothing was told on it that was not ours. */
  get quietSince(): number {
    return this.#quietSince;
  }

  /** There is a new connection. */
  opened(rpc: Rpc): void {
    this.#quietSince = this.#clock.monotonic();
    this.#rpc = rpc;
    this.#subscribe();
  }

  /** A connection ended. When it broke, whoever listens has to find out whether the system is still there. */
  ended({ broke }: { readonly broke: boolean }): void {
    this.#quietSince = this.#clock.monotonic();
    if (broke && this.#listeners.size > 0) this.#changed();
  }

  /** A call that changes something begins. What is returned is to be called at its end. */
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

  /** Takes what the server sends by itself. */
  receive(method: string, params: unknown): void {
    if (method !== 'collection_update' || this.#listeners.size === 0) return;
    const update = CollectionUpdate.safeParse(params);
    if (!update.success) return;
    const { collection, msg, id } = update.data;
    if (!watchedCollections.includes(collection) || msg === 'added' || isSnapshot(id)) return;
    // No name that we could have changed anything by.
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
      // What was looked at before may have changed unheard.
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
    // It ends with the process, which says nothing new.
    this.#clock.sleep(subscribeRetryMs, signal).then(again, () => {});
  }

  /** What was seen is old at once; who listens is told in a moment. */
  #changed(): void {
    this.#quietSince = this.#clock.monotonic();
    this.#nas.shared.forget();
    if (this.#isGathering) return;
    this.#isGathering = true;
    const restLeftMs = this.#toldAt + minNotifyIntervalMs - this.#clock.monotonic();
    this.#clock.sleep(Math.max(debounceMs, restLeftMs), this.#nas.over).then(
      () => {
        this.#isGathering = false;
        this.#toldAt = this.#clock.monotonic();
        for (const listener of [...this.#listeners]) listener();
      },
      () => {},
    );
  }
}

const eventKey = (collection: string, id: unknown): string => `${collection} ${id}`;

/** What a call is about. With a machine go its devices, by numbers that are not told; with a dataset what lies below it. */
function ownCallKeys(method: string, about: number | string): string[] {
  const own = eventKey(`${method.slice(0, method.lastIndexOf('.'))}.query`, about);
  if (method === 'vm.delete') return [own, eventKey('vm.device.query', anyId)];
  return method === 'pool.dataset.delete' ? [own, `${own}/`] : [own];
}

const anyId = '*';

/** By which of those a call that caused it could be known. */
function eventKeys(collection: string, id: unknown): string[] {
  const own = eventKey(collection, id);
  const above = [...own.matchAll(/\//g)].map(({ index }) => own.slice(0, index + 1));
  return [own, eventKey(collection, anyId), ...above];
}

/** The removal of a snapshot is told as if a dataset were gone (middleware: plugins/zfs_/zfs_events.py). */
const isSnapshot = (id: unknown): boolean => typeof id === 'string' && id.includes('@');
