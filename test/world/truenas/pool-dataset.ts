import { createDataset } from './dataset-create.ts';
import { deleteDataset } from './dataset-delete.ts';
import { lockDataset, unlockDataset } from './dataset-lock.ts';
import { datasetCreate, datasetDelete, datasetLock, datasetUnlock, datasetUpdate } from './dataset-model.ts';
import { describeTree, getDataset, queryDatasets } from './dataset-query.ts';
import { updateDataset } from './dataset-update.ts';
import { notFound } from './errors.ts';
import type { Method } from './method.ts';
import { nonEmpty, required, text, withDefault } from './model.ts';
import { type Entry, instanceParameters, type QueryOptions, queryParameters, textId } from './query.ts';
import { reckonSpace } from './storage.ts';

/** `pool.dataset.*`. */
export const datasetMethods: readonly Method[] = [
  {
    name: 'pool.dataset.query',
    parameters: queryParameters,
    access: ['DATASET_READ'],
    run: ([filters, options], { nas }) => queryDatasets(nas, filters, options as QueryOptions),
  },
  {
    name: 'pool.dataset.get_instance',
    parameters: instanceParameters(textId),
    access: ['DATASET_READ'],
    run: async ([id], { nas }) => describeTree(nas, getDataset(nas, String(id)), reckonSpace(nas)),
  },
  {
    name: 'pool.dataset.create',
    parameters: [{ name: 'data', field: required(datasetCreate) }],
    access: ['DATASET_WRITE'],
    run: ([data], context) => createDataset(data as Entry, context),
  },
  {
    name: 'pool.dataset.update',
    parameters: [
      { name: 'id', field: required(nonEmpty) },
      { name: 'data', field: required(datasetUpdate) },
    ],
    access: ['DATASET_WRITE'],
    run: ([id, data], context) => updateDataset(String(id), data as Entry, context),
  },
  {
    name: 'pool.dataset.delete',
    parameters: [
      { name: 'id', field: required(text()) },
      { name: 'options', field: withDefault(datasetDelete, { recursive: false, force: false }) },
    ],
    access: ['DATASET_DELETE'],
    run: ([id, options], { nas }) => deleteDataset(nas, String(id), options as { recursive: boolean }),
  },
  {
    name: 'pool.dataset.lock',
    parameters: [
      { name: 'id', field: required(text()) },
      { name: 'options', field: withDefault(datasetLock, { force_umount: false }) },
    ],
    access: ['DATASET_WRITE'],
    job: { lock: () => 'dataset_lock' },
    work: async ([id], { nas }) => lockDataset(nas, String(id)),
  },
  {
    name: 'pool.dataset.unlock',
    parameters: [
      { name: 'id', field: required(text()) },
      { name: 'options', field: withDefault(datasetUnlock, { datasets: [] }) },
    ],
    access: ['DATASET_WRITE'],
    job: { lock: ([id]) => `dataset_unlock_${id}` },
    work: async ([id, options], { nas }) => unlockDataset(nas, String(id), options as { datasets: Entry[] }),
  },
  {
    name: 'pool.dataset.recommended_zvol_blocksize',
    parameters: [{ name: 'pool', field: required(text()) }],
    access: ['DATASET_READ'],
    run: ([pool], { nas }) => {
      const found = nas.pools.get(String(pool));
      if (!found) throw notFound('Pool', pool);
      return found.isDraid ? '128K' : '16K';
    },
  },
];
