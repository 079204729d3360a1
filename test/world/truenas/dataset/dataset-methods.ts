import { type ApiMethod, plainMethod } from '../middleware/method.ts';
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
  plainMethod('pool.dataset.query', queryParameters, ['DATASET_READ'], ([filters, options], { nas }) =>
    queryDatasets(nas, filters, options as QueryOptions),
  ),
  plainMethod(
    'pool.dataset.create',
    [{ name: 'data', field: requiredField(datasetCreateModel) }],
    ['DATASET_WRITE'],
    ([data], context) => createDataset(data as Entry, context),
  ),
  plainMethod(
    'pool.dataset.update',
    [
      { name: 'id', field: requiredField(nonEmptyTextModel) },
      { name: 'data', field: requiredField(datasetUpdateModel) },
    ],
    ['DATASET_WRITE'],
    ([id, data], context) => updateDataset(String(id), data as Entry, context),
  ),
  plainMethod(
    'pool.dataset.delete',
    [
      { name: 'id', field: requiredField(textModel()) },
      { name: 'options', field: defaultedField(datasetDeleteModel, { recursive: false, force: false }) },
    ],
    ['DATASET_DELETE'],
    ([id, options], { nas }) => deleteDataset(nas, String(id), options as { recursive: boolean }),
  ),
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
