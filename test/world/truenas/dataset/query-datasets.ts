import { instanceNotFound } from '../middleware/errors.ts';
import { applyQuery, type Entry, type QueryOptions } from '../middleware/query.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import { childrenOf, computeSpace, type DatasetSpace, isImported, parentDatasetOf } from '../storage/dataset-files.ts';
import { systemDatasetPattern } from './dataset-properties.ts';
import { describeDataset } from './describe-dataset.ts';

const noSpace: DatasetSpace = { own: 0, refreservation: 0, children: 0, used: 0, available: 0 };

/** The dataset of this name. Throws the middleware's error for an unknown one. */
export function getDataset(nas: NasState, id: string): NasDataset {
  const dataset = nas.datasets.get(id);
  if (!dataset || systemDatasetPattern.test(id) || !isImported(nas, id)) throw instanceNotFound('PoolDataset', id);
  return dataset;
}

/** `pool.dataset.query`. */
export function queryDatasets(nas: NasState, filters: unknown, options: QueryOptions): unknown {
  const space = computeSpace(nas);
  const visible = [...nas.datasets.values()].filter(({ id }) => !systemDatasetPattern.test(id) && isImported(nas, id));
  const entries = visible
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((dataset) => describeDatasetTree(nas, dataset, space, options.extra));
  return applyQuery(entries, filters, options);
}

/** An entry with its children. */
export function describeDatasetTree(
  nas: NasState,
  dataset: NasDataset,
  space: ReadonlyMap<string, DatasetSpace>,
  extra: Entry = {},
): Entry {
  const entry = describeDataset(nas, dataset, space.get(dataset.id) ?? noSpace);
  const direct = childrenOf(nas, dataset.id).filter(
    ({ id }) => parentDatasetOf(id) === dataset.id && !systemDatasetPattern.test(id),
  );
  if (extra['retrieve_children'] !== false) {
    entry['children'] = direct.map((child) => describeDatasetTree(nas, child, space, extra));
  }
  return entry;
}
