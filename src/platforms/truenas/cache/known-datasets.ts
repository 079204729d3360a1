import { z } from 'zod';
import { LruMap } from '../../../lib/lru-map.ts';
import { Batcher } from '../../../lib/resilience/batcher.ts';
import type { TrueNasClient } from '../api/client.ts';
import { Dataset } from '../api/schema.ts';
import type { KnowledgeClock, ReadFreshness } from './knowledge-clock.ts';
import { datasetKey } from './own-writes.ts';
import { isNewer, type ReadStamp } from './read-stamp.ts';
import { batchOptions, SharedRead } from './shared-read.ts';

/** More than the datasets of all machines that are made at a time; an evicted one is read again. */
const maxDatasets = 2000;
/** More than the ProviderConfigs that use one system with one key. */
const maxLists = 100;

/** The fields of a list. The available space changes all the time, and tells nothing of a machine. */
const listFields = Object.keys(Dataset.shape).filter((name) => name !== 'children' && name !== 'available');

/** Lists the datasets beside and below the folders, i.e. everything below their parents. */
export function datasetListParams(folders: readonly string[]): readonly unknown[] {
  const parents = [...new Set(folders.map((folder) => folder.slice(0, folder.lastIndexOf('/') + 1)))];
  const each = parents.map((parent) => ['id', '^', parent]);
  return [each.length > 1 ? [['OR', each]] : each, { extra: { retrieve_children: false }, select: listFields }];
}

interface KnownDataset {
  /** Undefined: it does not exist. */
  readonly found: Dataset | undefined;
  readonly stamp: ReadStamp;
  /** Of a dataset that this process created: nothing lay below it then. */
  readonly emptySince?: ReadStamp | undefined;
}

/** By full name. */
export type Datasets = ReadonlyMap<string, Dataset>;

/**
 * The datasets of one system that readers asked for. Steps read the datasets of one machine by name, and the answers to
 * our own changes update them; observations list the datasets of all machines of a ProviderConfig.
 */
export class KnownDatasets {
  readonly #nas: TrueNasClient;
  readonly #versions: KnowledgeClock;
  readonly #known = new LruMap<string, KnownDataset>(maxDatasets);
  readonly #single: Batcher<string, Dataset>;
  readonly #trees: Batcher<string, Dataset>;
  readonly #lists = new LruMap<string, SharedRead<Datasets>>(maxLists);

  constructor(nas: TrueNasClient, versions: KnowledgeClock) {
    this.#nas = nas;
    this.#versions = versions;
    const options = batchOptions(nas.options.clock);
    this.#single = new Batcher((ids) => this.#askNamed(ids), options);
    this.#trees = new Batcher((ids) => this.#query(ids, true), options);
  }

  /** The dataset; undefined when it does not exist. */
  async get(id: string, freshness: ReadFreshness, signal: AbortSignal): Promise<Dataset | undefined> {
    const known = this.#find(id, freshness);
    return known ? known.found : await this.#single.request(id, signal);
  }

  /** The dataset with its descendants, read after this question. */
  async readTree(id: string, signal: AbortSignal): Promise<Dataset | undefined> {
    return await this.#trees.request(id, signal);
  }

  /** All datasets beside and below the folders. The freshness holds for datasets in the folders. */
  async beside(folders: readonly string[], freshness: ReadFreshness, signal: AbortSignal): Promise<Datasets> {
    const { writes } = this.#versions;
    const written = Math.max(0, ...folders.map((folder) => writes.versionBelow(datasetKey(folder))));
    const isValid = (stamp: ReadStamp) => this.#versions.isValid(stamp, freshness, written, this.#hasEvents);
    return await this.#listOf(datasetListParams(folders)).get(isValid, signal);
  }

  /** Takes over a list that was read elsewhere. */
  accept(folders: readonly string[], datasets: readonly Dataset[], stamp: ReadStamp): Datasets {
    const byName = new Map(datasets.map((one) => [one.id, one]));
    this.#listOf(datasetListParams(folders)).accept(byName, stamp);
    return byName;
  }

  /**
   * Assumes that the dataset does not exist, because nothing of its machine was ever made. If it exists, its creation is
   * refused. Known state of it is kept.
   */
  assumeMissing(id: string): void {
    if (!this.#find(id, {})) this.#known.set(id, { found: undefined, stamp: this.#versions.stamp() });
  }

  /** Updates the known state by the answer to a change of ours, which has ended with `stamp`. */
  amend(method: string, answer: unknown, stamp: ReadStamp): void {
    if (method !== 'pool.dataset.create' && method !== 'pool.dataset.update') return;
    const found = Dataset.safeParse(answer).data;
    if (!found) return;
    const isNew = method === 'pool.dataset.create';
    const emptySince = isNew ? stamp : this.#known.get(found.id)?.emptySince;
    this.#known.set(found.id, { found, stamp, emptySince });
    if (isNew) this.#dropMissingAbove(found.id);
  }

  /** Missing ancestors are created with a dataset. */
  #dropMissingAbove(id: string): void {
    for (let above = parentOf(id); above !== ''; above = parentOf(above)) {
      if (this.#known.get(above)?.found === undefined) this.#known.delete(above);
    }
  }

  #find(id: string, freshness: ReadFreshness): Pick<KnownDataset, 'found'> | undefined {
    const own = this.#known.get(id);
    if (own && this.#isValid(own.stamp, freshness, id)) return own;
    return this.#isBelowNothing(id, freshness) ? { found: undefined } : undefined;
  }

  /** True when the parent does not exist, or was just created. */
  #isBelowNothing(id: string, freshness: ReadFreshness): boolean {
    const above = this.#known.get(parentOf(id));
    if (!above) return false;
    if (above.found) return above.emptySince !== undefined && this.#isValid(above.emptySince, freshness, id);
    return [id, parentOf(id)].every((one) => this.#isValid(above.stamp, freshness, one));
  }

  /** True while a read at `stamp` shows the current state of the dataset. */
  #isValid(stamp: ReadStamp, freshness: ReadFreshness, id: string): boolean {
    const { writes, now } = this.#versions;
    const key = datasetKey(id);
    return this.#versions.isValid(stamp, freshness, writes.versionOf(key), this.#hasEvents && !writes.isEcho(key, now));
  }

  get #hasEvents(): boolean {
    return this.#nas.changes.isSubscribedTo('pool.dataset.query');
  }

  async #askNamed(ids: readonly string[]): Promise<Datasets> {
    const stamp = this.#versions.stamp();
    const found = await this.#query(ids, false);
    for (const id of ids) {
      // A call that began before a change of ours may miss it.
      const known = this.#known.get(id);
      if (!known || !isNewer(known.stamp, stamp)) this.#known.set(id, { found: found.get(id), stamp });
    }
    return found;
  }

  async #query(ids: readonly string[], children: boolean): Promise<Datasets> {
    const params = [[['id', 'in', ids]], { extra: { retrieve_children: children } }];
    // Ends with the connection, or after the usual timeout of a call: a single reader cannot abort it.
    const options = { signal: this.#nas.over };
    const found = await this.#nas.read('pool.dataset.query', params, z.array(Dataset), options);
    return new Map(found.map((dataset) => [dataset.id, dataset]));
  }

  #listOf(params: readonly unknown[]): SharedRead<Datasets> {
    const key = JSON.stringify(params);
    const known = this.#lists.get(key);
    if (known) return known;
    const { over, options } = this.#nas;
    const ask = async (): Promise<Datasets> => {
      const all = await this.#nas.read('pool.dataset.query', params, z.array(Dataset), { signal: over });
      return new Map(all.map((one) => [one.id, one]));
    };
    const list = new SharedRead({ clock: options.clock, over, versions: this.#versions, ask });
    this.#lists.set(key, list);
    return list;
  }
}

const parentOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf('/')));
