import type { Clock } from '../lib/clock.ts';
import { waitAtMost } from '../lib/deadline.ts';
import type { Log } from '../lib/log.ts';
import { ConcurrencyLimit } from '../lib/resilience/concurrency-limit.ts';
import { ClusterSlot, type SlotEnvironment } from './cluster-slot.ts';
import { type ClusterEntry, FleetCluster, type OpenClient } from './fleet-cluster.ts';
import { ClusterNotFoundError } from './fleet-errors.ts';
import { type ClusterChangeReason, type ClusterState, type ClusterTransition, FleetJournal } from './journal.ts';

/** Takes a cluster. Resolves soon; work for the cluster goes on until `cluster.signal` aborts. */
export type FleetConsumer = (cluster: FleetCluster) => Promise<void>;

/** A cache of a fleet, of whatever kind. */
interface OpenableCache {
  open(
    cluster: FleetCluster,
    with_: { clock: Clock; log: Log },
  ): { readonly synced: Promise<void>; readonly health: { readonly lastError: string | undefined } };
}

export interface FleetObserver {
  transition(transition: ClusterTransition): void;
  /** The seconds from the start of a cluster until its caches were filled. */
  synced(seconds: number): void;
  /** A list of the inventory is not believed yet; see {@link Fleet.reportUncertainList}. */
  listUncertain(): void;
}

export interface FleetOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly openClient: OpenClient;
  /** Filled before a cluster is engaged. */
  readonly caches: readonly OpenableCache[];
  readonly consumers: readonly FleetConsumer[];
  readonly observer?: FleetObserver;
  /** A cluster whose caches are not filled in time is tried again later; default 30. */
  readonly syncSeconds?: number;
  /** Number of clusters that start at the same time; default 10. One that is slow is not counted for long. */
  readonly maxStarts?: number;
}

interface ReportSubject {
  readonly name: string;
  readonly id: string;
  readonly clusterSet?: string | undefined;
}

/** A cluster that has not started by then goes on beside the limit, so that slow ones do not hold up the others. */
const slotSeconds = 2;

const maxNameLength = 63;
const maxMessageLength = 1000;

/** Clusters by name. Nothing that happens to one of them is waited for by another one. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #slots = new Map<string, ClusterSlot>();
  readonly #starts: ConcurrencyLimit;
  readonly #journal = new FleetJournal();
  readonly #environment: SlotEnvironment;
  #isStopped = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#starts = new ConcurrencyLimit(options.maxStarts ?? 10);
    this.#environment = {
      start: (name, entry, signal) => this.#startWithSlot(name, entry, signal),
      engage: async (cluster) => {
        for (const consumer of options.consumers) await consumer(cluster);
      },
      report: (slot, state, reason, error) => this.#report(slot, state, reason, error),
      sleep: (seconds, signal) => options.clock.sleep(seconds * 1000, signal).catch(() => {}),
    };
  }

  /** The engaged cluster. Never waits; throws {@link ClusterNotFoundError}. */
  get(name: string): FleetCluster {
    const cluster = this.#slots.get(name)?.cluster;
    if (!cluster) throw new ClusterNotFoundError(name);
    return cluster;
  }

  /** Names of the engaged clusters. */
  names(): readonly string[] {
    return [...this.#slots.values()].flatMap(({ name, cluster }) => (cluster ? [name] : []));
  }

  /** The last hundred changes, of one cluster or of all: why one has left, and when. */
  history(name?: string): readonly ClusterTransition[] {
    return this.#journal.list(name);
  }

  /** Adds a cluster, or changes it. The same entry changes nothing. */
  upsert(name: string, entry: ClusterEntry): void {
    if (this.#isStopped) return;
    if (name === '' || name.length > maxNameLength || name.includes('#')) {
      const problem = new RangeError(`A name has 1 to ${maxNameLength} characters, none of which is #.`);
      this.#report({ ...entry, name: name.slice(0, maxNameLength) }, 'rejected', 'invalid-entry', problem);
      return;
    }
    const slot = this.#slots.get(name);
    if (slot && !slot.isOver) slot.want(entry);
    else this.#add(name, entry);
  }

  #add(name: string, entry: ClusterEntry): void {
    const added = new ClusterSlot(name, entry, this.#environment);
    this.#slots.set(name, added);
    void added.ended.then(() => {
      if (this.#slots.get(name) === added) this.#slots.delete(name);
    });
  }

  /** Records that an entry cannot be used. A cluster that was engaged before stays. */
  reject(name: string, error: unknown): void {
    this.#report(this.#slots.get(name) ?? { name, id: '' }, 'rejected', 'invalid-entry', error);
  }

  /** Records that a list of the inventory is not believed yet. Every cluster stays. */
  reportUncertainList(problem: string): void {
    const { clock, log, observer } = this.#options;
    const reason = 'list-uncertain';
    this.#journal.add({ cluster: '', id: '', state: 'kept', reason, at: clock.now(), message: problem });
    observer?.listUncertain();
    log.warn({ reason, error: problem }, 'all clusters are kept');
  }

  remove(name: string): void {
    this.#slots.get(name)?.remove('removed');
  }

  /** Ends everything. Returns the names of the clusters whose work has not ended within these seconds. */
  async stop(seconds = 30): Promise<readonly string[]> {
    this.#isStopped = true;
    const slots = [...this.#slots.values()];
    for (const slot of slots) slot.remove('shutdown');
    const late = new Set(slots);
    const all = Promise.all(slots.map((slot) => slot.ended.then(() => late.delete(slot))));
    await waitAtMost(seconds, all, this.#options);
    return [...late].map(({ name }) => name);
  }

  async #startWithSlot(name: string, entry: ClusterEntry, signal: AbortSignal): Promise<FleetCluster> {
    const release = await this.#starts.acquire(signal);
    const timer = new AbortController();
    this.#options.clock.sleep(slotSeconds * 1000, timer.signal).then(release, () => {});
    try {
      return await this.#start(name, entry, signal);
    } finally {
      timer.abort();
      release();
    }
  }

  async #start(name: string, entry: ClusterEntry, signal: AbortSignal): Promise<FleetCluster> {
    const { clock, log, caches, observer, openClient, syncSeconds = 30 } = this.#options;
    const began = clock.monotonic();
    const cluster = new FleetCluster(name, entry, openClient);
    const opened = caches.map((cache) => cache.open(cluster, { clock, log }));
    const synced = Promise.all(opened.map((cache) => cache.synced));
    try {
      const isSynced = await waitAtMost(syncSeconds, synced, { clock, signal });
      signal.throwIfAborted();
      if (!isSynced) throw syncTimeoutError(syncSeconds, opened);
    } catch (error) {
      await cluster.end('start-failed');
      throw error;
    }
    observer?.synced((clock.monotonic() - began) / 1000);
    return cluster;
  }

  #report(subject: ReportSubject, state: ClusterState, reason: ClusterChangeReason, error?: unknown): void {
    const { clock, log, observer } = this.#options;
    const { name: cluster, id, clusterSet } = subject;
    const message = error === undefined ? undefined : String(error instanceof Error ? error.message : error);
    const transition: ClusterTransition = {
      ...{ cluster, id, state, reason, at: clock.now() },
      ...(message === undefined ? {} : { message: message.slice(0, maxMessageLength) }),
    };
    this.#journal.add(transition);
    observer?.transition(transition);
    const fields = {
      ...{ cluster, clusterID: id, reason },
      ...(clusterSet === undefined ? {} : { clusterset: clusterSet }),
      ...(message === undefined ? {} : { error: transition.message }),
    };
    if (error === undefined) log.info(fields, `cluster is ${state}`);
    else log.warn(fields, `cluster is ${state}`);
  }
}

function syncTimeoutError(seconds: number, caches: readonly ReturnType<OpenableCache['open']>[]): Error {
  const error = caches.map(({ health }) => health.lastError).find((text) => text !== undefined);
  return new Error(`Its caches were not filled within ${seconds} s${error === undefined ? '' : `: ${error}`}`);
}
