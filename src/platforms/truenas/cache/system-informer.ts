import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import { Batcher } from '../../../lib/resilience/batcher.ts';
import type { ConnectionEvent } from '../api/change-events.ts';
import type { TrueNasClient, WriteObserver } from '../api/client.ts';
import { Dataset, FileStat, Pool, parseTrueNasReply, Vm } from '../api/schema.ts';
import { hasCode } from '../errors.ts';
import { KnowledgeClock, type ReadFreshness } from './knowledge-clock.ts';
import { type Datasets, datasetListParams, KnownDatasets } from './known-datasets.ts';
import { KnownVms, vmListParams } from './known-vms.ts';
import { fileKey, objectKey, writtenKeys } from './own-writes.ts';
import type { ReadStamp } from './read-stamp.ts';
import { batchOptions, SharedRead } from './shared-read.ts';

/** One change causes several events, which are collected for this time. */
const debounceMs = 1000;
/** Shortest time between two notifications. */
const minNotifyIntervalMs = 10_000;
/** Names and guids of pools rarely change, and an unknown name is read at once. */
const poolNamesSeconds = 600;
/** More than the boot images on one system. */
const maxFiles = 1000;

const poolListParams: readonly unknown[] = [[], { select: Object.keys(Pool.shape) }];

/** The objects of a system. */
export interface SystemList {
  readonly vms: readonly Vm[];
  readonly pools: readonly Pool[];
  readonly datasets: Datasets;
}

/** A list whose parsing is left to the caller. */
export interface UnparsedList {
  /** Equal for equal lists. */
  readonly hash: string;
  read(): SystemList;
}

/**
 * The known state of one system, for all readers of this process: lists and single objects, each with the version at
 * which its call began. A change of ours raises the version, so that no reader sees an older state; an event of another
 * client, the end of a connection and a failure put everything in doubt, and the next reader reads again.
 * Nothing is subscribed to without a listener.
 */
export class SystemInformer {
  readonly vms: KnownVms;
  readonly datasets: KnownDatasets;
  readonly #nas: TrueNasClient;
  readonly #clock: Clock;
  readonly #versions: KnowledgeClock;
  readonly #pools: SharedRead<readonly Pool[]>;
  readonly #files: Batcher<string, PromiseSettledResult<FileStat | undefined>>;
  readonly #knownFiles = new LruMap<string, { readonly found: FileStat; readonly stamp: ReadStamp }>(maxFiles);
  readonly #listeners = new Set<() => void>();
  #isGathering = false;
  #lastNotifiedAt = Number.NEGATIVE_INFINITY;

  private constructor(nas: TrueNasClient) {
    const { clock } = nas.options;
    this.#nas = nas;
    this.#clock = clock;
    this.#versions = new KnowledgeClock(clock);
    this.vms = new KnownVms(nas, this.#versions);
    this.datasets = new KnownDatasets(nas, this.#versions);
    this.#pools = new SharedRead<readonly Pool[]>({
      ...{ clock, over: nas.over, versions: this.#versions, keepSeconds: poolNamesSeconds },
      ask: () => nas.read('pool.query', poolListParams, z.array(Pool), { signal: nas.over }),
    });
    this.#files = new Batcher((paths) => this.#askFiles(paths), batchOptions(clock));
    nas.observeWrites((method, params) => this.#beginWrite(method, params));
    const listeners = this.#listeners;
    nas.changes.observe({
      get wantsEvents() {
        return listeners.size > 0;
      },
      changed: (collection, id) => this.#takeEvent(collection, id),
      connection: (event) => this.#takeConnectionEvent(event),
    });
  }

  static readonly #all = new WeakMap<TrueNasClient, SystemInformer>();

  /** The informer of a connection. */
  static of(nas: TrueNasClient): SystemInformer {
    const known = SystemInformer.#all.get(nas) ?? new SystemInformer(nas);
    SystemInformer.#all.set(nas, known);
    return known;
  }

  /** For `atLeast`: a read with it is never older than this moment. */
  nextVersion(): number {
    return this.#versions.next();
  }

  /** Everything is read again before it is used. */
  outdateAll(): void {
    this.#versions.outdateAll();
  }

  /**
   * Calls `listener` about a second after another client changed machines, devices or datasets, as far as TrueNAS
   * reports it, and when the connection breaks or is opened again. All known state is in doubt by then. `listener` must
   * not throw; the returned function removes it.
   */
  listen(listener: () => void): () => void {
    // The same function may be registered twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#nas.changes.subscribe();
    return () => this.#listeners.delete(own);
  }

  /** All pools. Their state has no events. */
  async pools(freshness: ReadFreshness, signal: AbortSignal): Promise<readonly Pool[]> {
    return await this.#pools.get((stamp) => this.#versions.isValid(stamp, freshness, 0, false), signal);
  }

  /** The pools of these names, for their guids only: a doubt does not outdate them. */
  async poolsNamed(names: readonly string[], signal: AbortSignal): Promise<readonly Pool[]> {
    const { known } = this.#pools;
    const isKnown = names.every((name) => known?.value.some((pool) => pool.name === name));
    if (known && isKnown && this.#versions.now - known.stamp.at < poolNamesSeconds * 1000) return known.value;
    return await this.pools({ atLeast: this.nextVersion() }, signal);
  }

  /** The file; undefined when there is nothing at `path`. Files have no events. */
  async file(path: string, freshness: ReadFreshness, signal: AbortSignal): Promise<FileStat | undefined> {
    const known = this.#knownFiles.get(path);
    const written = this.#versions.writes.versionOf(fileKey(path));
    if (known && this.#versions.isValid(known.stamp, freshness, written, false)) return known.found;
    const result = await this.#files.request(path, signal);
    if (result?.status === 'rejected') throw result.reason;
    return result?.value;
  }

  /**
   * Lists VMs, pools and the datasets beside the folders now, for the caller that polls. Answers that have not changed
   * need not be parsed.
   */
  async relist(folders: readonly string[], signal: AbortSignal): Promise<UnparsedList> {
    const stamp = this.#versions.stamp();
    const list = async <T>(method: string, params: readonly unknown[], schema: z.ZodType<T>) => {
      const { hash, read } = await this.#nas.readLater(method, params, { signal });
      return { hash, read: (): T => parseTrueNasReply(method, read(), schema) };
    };
    const [vms, pools, datasets] = await Promise.all([
      list('vm.query', vmListParams, z.array(Vm)),
      list('pool.query', poolListParams, z.array(Pool)),
      list('pool.dataset.query', datasetListParams(folders), z.array(Dataset)),
    ]);
    return {
      hash: [vms, pools, datasets].map(({ hash }) => hash).join(),
      read: () => {
        const all = { vms: vms.read(), pools: pools.read(), datasets: datasets.read() };
        this.vms.accept(all.vms, stamp);
        this.#pools.accept(all.pools, stamp);
        return { ...all, datasets: this.datasets.accept(folders, all.datasets, stamp) };
      },
    };
  }

  /** TrueNAS has one call for each file, so an error concerns one file only. */
  async #askFiles(paths: readonly string[]): Promise<ReadonlyMap<string, PromiseSettledResult<FileStat | undefined>>> {
    const results = await Promise.allSettled(paths.map((path) => this.#askFile(path)));
    return new Map(results.map((result, i) => [paths[i] ?? '', result]));
  }

  async #askFile(path: string): Promise<FileStat | undefined> {
    const stamp = this.#versions.stamp();
    try {
      const found = await this.#nas.read('filesystem.stat', [path], FileStat, { signal: this.#nas.over });
      this.#knownFiles.set(path, { found, stamp });
      return found;
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_NOT_FOUND')) throw error;
      this.#knownFiles.delete(path);
      return undefined;
    }
  }

  #beginWrite(method: string, params: readonly unknown[]): ReturnType<WriteObserver> {
    const versions = this.#versions;
    const started = { version: versions.next(), at: versions.now };
    const keys = writtenKeys(method, params);
    versions.writes.begin(keys, started);
    return (result) => {
      const version = versions.next();
      versions.writes.end(method, keys, { version, at: versions.now });
      // The effect of a failed change is unknown, and after an event the answer of a successful one may be outdated.
      if (result && versions.outdatedAt < started.version) {
        // The answer shows the state of the call, so it is as old as its begin.
        const answered = { version, at: started.at };
        this.vms.amend(method, params, result.answer, answered);
        this.datasets.amend(method, result.answer, answered);
      } else versions.outdateAll();
    };
  }

  #takeEvent(collection: string, id: unknown): void {
    const isOurs = id !== undefined && this.#versions.writes.isEcho(objectKey(collection, id), this.#versions.now);
    if (isOurs) return;
    this.#versions.outdateAll();
    this.#notify();
  }

  #takeConnectionEvent(event: ConnectionEvent): void {
    this.#versions.setEventsFollow(event === 'subscribed');
    // Changes before the subscription caused no events, and a system that does not answer may be gone.
    if (event === 'subscribed' || event === 'broken') this.#notify();
  }

  #notify(): void {
    if (this.#isGathering || this.#listeners.size === 0) return;
    this.#isGathering = true;
    const remainingMs = this.#lastNotifiedAt + minNotifyIntervalMs - this.#clock.monotonic();
    this.#clock.sleep(Math.max(debounceMs, remainingMs), this.#nas.over).then(
      () => {
        this.#isGathering = false;
        this.#lastNotifiedAt = this.#clock.monotonic();
        for (const listener of [...this.#listeners]) listener();
      },
      () => {},
    );
  }
}
