import { describeDataset } from './dataset-entry.ts';
import { hidden } from './dataset-properties.ts';
import { notFound } from './errors.ts';
import type { Dataset, Nas } from './nas.ts';
import { applyQuery, type Entry, type QueryOptions } from './query.ts';
import { childrenOf, isImported, parentOf, reckonSpace, type Space } from './storage.ts';

const noSpace: Space = { own: 0, refreservation: 0, children: 0, used: 0, available: 0 };

/** The dataset of this name. Throws the answer for one that is not there. */
export function getDataset(nas: Nas, id: string): Dataset {
  const dataset = nas.datasets.get(id);
  if (!dataset || hidden.test(id) || !isImported(nas, id)) throw notFound('PoolDataset', id);
  return dataset;
}

/** `pool.dataset.query`. */
export async function queryDatasets(nas: Nas, filters: unknown, options: QueryOptions): Promise<unknown> {
  const space = reckonSpace(nas);
  const flat = options.extra['flat'] !== false;
  const visible = [...nas.datasets.values()].filter(
    ({ id }) => !hidden.test(id) && isImported(nas, id) && (flat || !id.includes('/')),
  );
  const entries = visible
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((dataset) => describeTree(nas, dataset, space, options.extra));
  return applyQuery(entries, filters, options);
}

/** An entry with its children. */
export function describeTree(nas: Nas, dataset: Dataset, space: ReadonlyMap<string, Space>, extra: Entry = {}): Entry {
  const entry = describeDataset(nas, dataset, space.get(dataset.id) ?? noSpace, extra);
  const direct = childrenOf(nas, dataset.id).filter(({ id }) => parentOf(id) === dataset.id && !hidden.test(id));
  if (extra['snapshots'] === true) {
    const own = [...nas.snapshots.values()].filter((one) => one.dataset === dataset.id);
    entry['snapshots'] = own.map(({ id, name }) => ({ id, name: id, snapshot_name: name, dataset: dataset.id }));
  }
  if (extra['retrieve_children'] !== false) {
    entry['children'] = direct.map((child) => describeTree(nas, child, space, extra));
  }
  return entry;
}
