import { ArgumentErrors, CallError } from '../middleware/errors.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import {
  type DatasetSpace,
  encryptionRoot,
  existsOnNas,
  isImported,
  isLocked,
  mountpointOf,
  parentDatasetOf,
} from '../storage/dataset-files.ts';
import { isDatasetName } from './dataset-parameters.ts';
import { blockBytes, systemDatasetPattern } from './dataset-properties.ts';
import { isReadOnly } from './describe-dataset.ts';

/** Validates the name of a new dataset and returns its parent. */
export function validateNewName(nas: NasState, data: Entry, name: string): NasDataset {
  const rejections = new ArgumentErrors();
  const at = 'pool_dataset_create.name';
  let parent: NasDataset | undefined;
  if (!name.includes('/')) rejections.add(at, 'You need a full name, e.g. pool/newdataset');
  else if (!isDatasetName(name)) rejections.add(at, 'Invalid dataset name');
  else if (name.endsWith(' ')) rejections.add(at, 'Trailing spaces are not permitted in dataset names');
  else {
    const parentName = parentDatasetOf(name) ?? name;
    let above: string | undefined = parentName;
    if (data['create_ancestors'] === true) while (above && !nas.datasets.has(above)) above = parentDatasetOf(above);
    parent = above === undefined ? undefined : nas.datasets.get(above);
    if (parent && !isImported(nas, parent.id)) parent = undefined;
    if (!parent && data['create_ancestors'] === true) {
      rejections.add(at, 'Please specify a pool which exists for the dataset/volume to be created');
    } else if (!parent) {
      const kind = parentName.includes('/') && isImported(nas, parentName) ? 'Parent dataset' : 'zpool';
      rejections.add(at, `${kind} (${parentName}) does not exist.`);
    } else if (isReadOnly(nas, parent)) {
      rejections.add('pool_dataset_create.readonly', `Turn off readonly mode on ${parent.id} to create ${name}`);
    }
  }
  if (systemDatasetPattern.test(`${name}/`)) {
    rejections.add(at, `'${name}' is using system internal managed dataset. Please specify a different parent.`);
  }
  rejections.check();
  if (!parent) throw new CallError('unreachable');
  return parent;
}

/** Validates the size of a volume. One without a block size gets the default. */
export function validateType(data: Entry, parent: NasDataset, space: ReadonlyMap<string, DatasetSpace>): void {
  if (data['type'] !== 'VOLUME') return;
  const rejections = new ArgumentErrors();
  data['volblocksize'] ??= '16K';
  validateVolumeSize(rejections, 'pool_dataset_create', data, space.get(parent.id)?.available ?? 0);
  rejections.check();
}

/** The 80 % rule and the multiple of the block size. */
export function validateVolumeSize(rejections: ArgumentErrors, schema: string, data: Entry, available: number): void {
  const size = Number(data['volsize']);
  if (size > available * 0.8 && data['force_size'] !== true) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    rejections.add(`${schema}.volsize`, message);
  }
  if (size % blockBytes(data['volblocksize']) !== 0) {
    rejections.add(`${schema}.volsize`, 'Volume size should be a multiple of volume block size');
  }
}

/** Validates the location of a new dataset: existing datasets, and locked or encrypted ancestors. */
export function validateParent(nas: NasState, data: Entry, name: string, parent: NasDataset): void {
  const rejections = new ArgumentErrors();
  const at = 'pool_dataset_create.name';
  if (parent.type === 'VOLUME') rejections.add(at, `${parent.id}: parent may not be a ZFS volume`);
  if (existsOnNas(nas, mountpointOf(name))) rejections.add(at, `Path ${mountpointOf(name)} already exists`);
  if (isLocked(nas, parent)) rejections.add(at, `${parentDatasetOf(name)} must be unlocked to create ${name}.`);
  if (data['encryption'] === true) checkEncryption(rejections, nas, data, parent);
  else if (data['inherit_encryption'] === false && encryptionRoot(nas, parent)) {
    const message = `Cannot create an unencrypted dataset within an encrypted dataset (${parent.id}).`;
    rejections.add('pool_dataset_create.encryption', message);
  }
  rejections.check();
}

function checkEncryption(rejections: ArgumentErrors, nas: NasState, data: Entry, parent: NasDataset): void {
  const options = data['encryption_options'] as Entry;
  if (data['inherit_encryption'] === true) {
    rejections.add('pool_dataset_create.inherit_encryption', 'Must be disabled when encryption is enabled.');
  }
  const root = encryptionRoot(nas, parent);
  if (!options['passphrase'] && root?.encryption?.format === 'passphrase') {
    const message = 'Passphrase encrypted datasets cannot have children encrypted with a key.';
    rejections.add('pool_dataset_create.encryption', message);
  }
  if (!options['key'] && !options['passphrase'] && options['generate_key'] !== true) {
    const message =
      'Please provide a key or select generate_key to automatically generate a key when passphrase is not provided.';
    rejections.add('pool_dataset_create.encryption_options.key', message);
  }
}
