import type { ApiMethod } from '../middleware/method.ts';
import { defaultedField, nonEmptyTextModel, requiredField, textModel } from '../middleware/parameter-model.ts';
import { type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { createDataset } from './create-dataset.ts';
import {
  datasetCreateModel,
  datasetDeleteModel,
  datasetLockModel,
  datasetUnlockModel,
  datasetUpdateModel,
} from './dataset-parameters.ts';
import { deleteDataset } from './delete-dataset.ts';
import { lockDataset, unlockDataset } from './lock-dataset.ts';
import { queryDatasets } from './query-datasets.ts';
import { updateDataset } from './update-dataset.ts';

/** `pool.dataset.*`. */
export const datasetMethods: readonly ApiMethod[] = [
  {
    name: 'pool.dataset.query',
    parameters: queryParameters,
    access: ['DATASET_READ'],
    run: ([filters, options], { nas }) => queryDatasets(nas, filters, options as QueryOptions),
  },
  {
    name: 'pool.dataset.create',
    parameters: [{ name: 'data', field: requiredField(datasetCreateModel) }],
    access: ['DATASET_WRITE'],
    run: ([data], context) => createDataset(data as Entry, context),
  },
  {
    name: 'pool.dataset.update',
    parameters: [
      { name: 'id', field: requiredField(nonEmptyTextModel) },
      { name: 'data', field: requiredField(datasetUpdateModel) },
    ],
    access: ['DATASET_WRITE'],
    run: ([id, data], context) => updateDataset(String(id), data as Entry, context),
  },
  {
    name: 'pool.dataset.delete',
    parameters: [
      { name: 'id', field: requiredField(textModel()) },
      { name: 'options', field: defaultedField(datasetDeleteModel, { recursive: false, force: false }) },
    ],
    access: ['DATASET_DELETE'],
    run: ([id, options], { nas }) => deleteDataset(nas, String(id), options as { recursive: boolean }),
  },
  {
    name: 'pool.dataset.lock',
    parameters: [
      { name: 'id', field: requiredField(textModel()) },
      { name: 'options', field: defaultedField(datasetLockModel, { force_umount: false }) },
    ],
    access: ['DATASET_WRITE'],
    job: { lock: () => 'dataset_lock' },
    work: async ([id], { nas }) => lockDataset(nas, String(id)),
  },
  {
    name: 'pool.dataset.unlock',
    parameters: [
      { name: 'id', field: requiredField(textModel()) },
      { name: 'options', field: defaultedField(datasetUnlockModel, { datasets: [] }) },
    ],
    access: ['DATASET_WRITE'],
    job: { lock: ([id]) => `dataset_unlock_${id}` },
    work: async ([id, options], { nas }) => unlockDataset(nas, String(id), options as { datasets: Entry[] }),
  },
];
