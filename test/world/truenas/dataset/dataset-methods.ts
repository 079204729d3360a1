import { instanceNotFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { defaultedField, nonEmptyTextModel, requiredField, textModel } from '../middleware/parameter-model.ts';
import { type Entry, instanceParameters, type QueryOptions, queryParameters, textId } from '../middleware/query.ts';
import { computeSpace } from '../storage/dataset-files.ts';
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
import { describeDatasetTree, getDataset, queryDatasets } from './query-datasets.ts';
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
    name: 'pool.dataset.get_instance',
    parameters: instanceParameters(textId),
    access: ['DATASET_READ'],
    run: async ([id], { nas }) => describeDatasetTree(nas, getDataset(nas, String(id)), computeSpace(nas)),
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
  {
    name: 'pool.dataset.recommended_zvol_blocksize',
    parameters: [{ name: 'pool', field: requiredField(textModel()) }],
    access: ['DATASET_READ'],
    run: ([pool], { nas }) => {
      const found = nas.pools.get(String(pool));
      if (!found) throw instanceNotFound('Pool', pool);
      return found.isDraid ? '128K' : '16K';
    },
  },
];
