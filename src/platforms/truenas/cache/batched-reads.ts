import { z } from 'zod';
import { Batcher, type BatcherOptions } from '../../../lib/resilience/batcher.ts';
import type { TrueNasClient } from '../api/client.ts';
import { Dataset, FileStat, Pool, Vm } from '../api/schema.ts';
import { hasCode } from '../errors.ts';

/** How long a read waits for others to share its call. */
const batchWindowMs = 25;
/** Reads that arrive during a call start a second one. Waiting would synchronise machines that run in parallel. */
const maxConcurrentBatches = 2;
/** A slow call delays later reads for no longer than this. */
const slowBatchSeconds = 2;

/** UUID and name of a VM. */
export type VmLookupKey = `${string}/${string}`;

/**
 * Batches the reads of machines on one system. Concurrent reads share a call. An answer is never older than its read,
 * so a step sees the effect of the step before it.
 */
export class BatchedReads {
  readonly datasets: Batcher<string, Dataset>;
  /** Datasets with their children. */
  readonly trees: Batcher<string, Dataset>;
  /** By UUID and name; all VMs that have either. */
  readonly vms: Batcher<VmLookupKey, readonly Vm[]>;
  readonly files: Batcher<string, PromiseSettledResult<FileStat | undefined>>;
  /** All VMs of the system. */
  readonly allVms: Batcher<'all', readonly Vm[]>;
  readonly pools: Batcher<'all', readonly Pool[]>;
  readonly #nas: TrueNasClient;

  private constructor(nas: TrueNasClient) {
    this.#nas = nas;
    const { clock } = nas.options;
    const manner: BatcherOptions = {
      concurrency: maxConcurrentBatches,
      linger: () => clock.sleep(batchWindowMs),
      maxWait: (signal) => clock.sleep(slowBatchSeconds * 1000, signal),
    };
    this.datasets = new Batcher((ids) => this.#findDatasets(ids, false), manner);
    this.trees = new Batcher((ids) => this.#findDatasets(ids, true), manner);
    this.vms = new Batcher((names) => this.#findVms(names), manner);
    this.files = new Batcher((paths) => this.#findFiles(paths), manner);
    this.allVms = new Batcher(async () => new Map([['all', await this.#read('vm.query', [], z.array(Vm))]]), manner);
    this.pools = new Batcher(async () => new Map([['all', await this.#read('pool.query', [], z.array(Pool))]]), manner);
  }

  static #known = new WeakMap<TrueNasClient, BatchedReads>();

  /** The instance of a connection. */
  static of(nas: TrueNasClient): BatchedReads {
    const known = BatchedReads.#known.get(nas) ?? new BatchedReads(nas);
    BatchedReads.#known.set(nas, known);
    return known;
  }

  /** Ends with the connection, or after the usual timeout of a call. */
  #read<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Promise<T> {
    return this.#nas.read(method, params, schema, { signal: this.#nas.over });
  }

  async #findDatasets(ids: readonly string[], children: boolean): Promise<ReadonlyMap<string, Dataset>> {
    const params = [[['id', 'in', ids]], { extra: { retrieve_children: children } }];
    const found = await this.#read('pool.dataset.query', params, z.array(Dataset));
    return new Map(found.map((dataset) => [dataset.id, dataset]));
  }

  async #findVms(names: readonly VmLookupKey[]): Promise<ReadonlyMap<VmLookupKey, readonly Vm[]>> {
    const wanted = names.map((both) => ({ both, uuid: both.split('/')[0] ?? '', name: both.split('/')[1] ?? '' }));
    const filter = [
      'OR',
      [
        ['uuid', 'in', wanted.map(({ uuid }) => uuid)],
        ['name', 'in', wanted.map(({ name }) => name)],
      ],
    ];
    const found = await this.#read('vm.query', [[filter]], z.array(Vm));
    return new Map(
      wanted.map(({ both, uuid, name }) => [both, found.filter((vm) => vm.uuid === uuid || vm.name === name)]),
    );
  }

  /** TrueNAS has one call for each file, so an error concerns one file only. */
  async #findFiles(paths: readonly string[]): Promise<ReadonlyMap<string, PromiseSettledResult<FileStat | undefined>>> {
    const results = await Promise.allSettled(paths.map((path) => this.#findFile(path)));
    return new Map(results.map((result, i) => [paths[i] ?? '', result]));
  }

  async #findFile(path: string): Promise<FileStat | undefined> {
    try {
      return await this.#read('filesystem.stat', [path], FileStat);
    } catch (error) {
      if (hasCode(error, 'TRUENAS_NOT_FOUND')) return undefined;
      throw error;
    }
  }
}
