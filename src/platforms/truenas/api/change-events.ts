import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { hasCode } from '../errors.ts';
import { receiveLimits } from './receive-limits.ts';
import type { Rpc } from './rpc.ts';
import { CollectionUpdate, Unsubscription } from './schema.ts';
import type { TrueNasSubscriber } from './subscriber.ts';

/**
 * Collections with events about machines and their storage. A subscription requires the role of the query of the same
 * name (middleware: service/crud_service.py). Pools are left out: 26 sends no events about their health.
 */
const watchedCollections: readonly string[] = ['vm.query', 'vm.device.query', 'pool.dataset.query'];

/** Retry interval of a failed subscription. */
const subscribeRetryMs = 60_000;

/** `subscribed`: changes before it caused no events. `broken`: the connection ended without a close frame. */
export type ConnectionEvent = 'subscribed' | 'closed' | 'broken';

/** Receives the events of a system. Its methods must not throw. */
export interface ChangeObserver {
  /** While false, nothing is subscribed to. */
  readonly wantsEvents: boolean;
  /** Any client changed or removed an object. `id` is undefined when it is too long to be one of ours. */
  changed(collection: string, id: unknown): void;
  /** Events before this moment may be missing. `closed` also when the system ended a subscription. */
  connection(event: ConnectionEvent): void;
}

/**
 * Subscribes to the changes of one system on each of its connections. Events are hints, and some lack half of their
 * fields, so only the object is reported. Events about new objects are ignored: they concern nothing that existed
 * before.
 */
export class ChangeEvents {
  readonly #nas: TrueNasSubscriber;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Collections that the user may not subscribe to. */
  readonly #refused = new Set<string>();
  #observer: ChangeObserver | undefined;
  #rpc: Rpc | undefined;
  /** The connection on which subscriptions were begun. */
  #requested: Rpc | undefined;
  /** The collections that are subscribed to on the current connection. */
  readonly #subscribed = new Set<string>();

  constructor(nas: TrueNasSubscriber, clock: Clock, log: Log) {
    this.#nas = nas;
    this.#clock = clock;
    this.#log = log;
  }

  observe(observer: ChangeObserver): void {
    this.#observer = observer;
  }

  /** True while events of the collection arrive. */
  isSubscribedTo(collection: string): boolean {
    return this.#rpc?.open === true && this.#subscribed.has(collection);
  }

  /** Called when a connection was opened. */
  opened(rpc: Rpc): void {
    this.#rpc = rpc;
    this.#subscribed.clear();
    this.subscribe();
  }

  /** Called when a connection has ended. */
  ended({ onBroken }: { readonly onBroken: boolean }): void {
    this.#observer?.connection(onBroken ? 'broken' : 'closed');
  }

  /** Handles a notification of the server. */
  receive(method: string, params: unknown): void {
    if (method === 'notify_unsubscribed') this.#unsubscribed(params);
    if (method !== 'collection_update') return;
    const update = CollectionUpdate.safeParse(params);
    if (!update.success) return;
    const { collection, msg, id } = update.data;
    if (!watchedCollections.includes(collection) || msg === 'added' || isSnapshot(id)) return;
    const isName = typeof id !== 'string' || id.length <= receiveLimits.nameCharacters;
    this.#observer?.changed(collection, isName ? id : undefined);
  }

  /** The system has ended a subscription, e.g. because the user lost a role. */
  #unsubscribed(params: unknown): void {
    const { data } = Unsubscription.safeParse(params);
    if (!data || !this.#rpc || !this.#subscribed.delete(data.collection)) return;
    this.#observer?.connection('closed');
    this.#subscribeLater(this.#rpc, data.error);
  }

  /** Subscribes on the current connection, if the observer wants events. */
  subscribe(): void {
    const rpc = this.#rpc;
    if (!rpc?.open || this.#requested === rpc || !this.#observer?.wantsEvents) return;
    this.#requested = rpc;
    this.#subscribeAll(rpc).then(
      () => this.#observer?.connection('subscribed'),
      (error: unknown) => this.#subscribeLater(rpc, error),
    );
  }

  async #subscribeAll(rpc: Rpc): Promise<void> {
    const signal = this.#nas.over;
    for (const collection of watchedCollections) {
      if (this.#refused.has(collection) || this.#subscribed.has(collection)) continue;
      try {
        await this.#nas.subscribe(collection, { signal });
        if (this.#rpc === rpc) this.#subscribed.add(collection);
      } catch (error) {
        if (!hasCode(error, 'TRUENAS_ROLE_MISSING')) throw error;
        this.#refused.add(collection);
        const { host } = this.#nas;
        this.#log.info(
          { host, collection },
          'TrueNAS does not send change events to this user; the provider polls instead',
        );
      }
    }
  }

  #subscribeLater(rpc: Rpc, error: unknown): void {
    const signal = this.#nas.over;
    if (signal.aborted) return;
    this.#log.debug({ host: this.#nas.host, err: error }, 'subscription to change events of TrueNAS failed');
    const again = () => {
      if (this.#requested === rpc) this.#requested = undefined;
      this.subscribe();
    };
    // The sleep is aborted at shutdown only.
    this.#clock.sleep(subscribeRetryMs, signal).then(again, () => {});
  }
}

/** The removal of a snapshot arrives like that of a dataset (middleware: plugins/zfs_/zfs_events.py). */
const isSnapshot = (id: unknown): boolean => typeof id === 'string' && id.includes('@');
