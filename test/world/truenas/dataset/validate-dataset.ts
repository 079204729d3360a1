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
  poolNameOf,
} from '../storage/dataset-files.ts';
import { isDatasetName } from './dataset-parameters.ts';
import { blockBytes, systemDatasetPattern } from './dataset-properties.ts';
import { effectiveProperty } from './describe-dataset.ts';

/** Validates the name of a new dataset and returns its parent. */
export function validateNewName(nas: NasState, data: Entry, name: string): NasDataset {
  const refusals = new ArgumentErrors();
  const at = 'pool_dataset_create.name';
  let parent: NasDataset | undefined;
  if (!name.includes('/')) refusals.add(at, 'You need a full name, e.g. pool/newdataset');
  else if (!isDatasetName(name)) refusals.add(at, 'Invalid dataset name');
  else if (name.endsWith(' ')) refusals.add(at, 'Trailing spaces are not permitted in dataset names');
  else {
    const parentName = parentDatasetOf(name) ?? name;
    let above: string | undefined = parentName;
    if (data['create_ancestors'] === true) while (above && !nas.datasets.has(above)) above = parentDatasetOf(above);
    parent = above === undefined ? undefined : nas.datasets.get(above);
    if (parent && !isImported(nas, parent.id)) parent = undefined;
    if (!parent && data['create_ancestors'] === true) {
      refusals.add(at, 'Please specify a pool which exists for the dataset/volume to be created');
    } else if (!parent) {
      const kind = parentName.includes('/') && isImported(nas, parentName) ? 'Parent dataset' : 'zpool';
      refusals.add(at, `${kind} (${parentName}) does not exist.`);
    } else if (effectiveProperty(nas, parent, 'readonly').raw === 'on') {
      refusals.add('pool_dataset_create.readonly', `Turn off readonly mode on ${parent.id} to create ${name}`);
    }
  }
  if (systemDatasetPattern.test(`${name}/`)) {
    refusals.add(at, `'${name}' is using system internal managed dataset. Please specify a different parent.`);
  }
  refusals.check();
  if (!parent) throw new CallError('unreachable');
  return parent;
}

/**
 * Validates the properties that only a filesystem or only a volume has. A volume without a block size gets the default.
 */
export function validateType(
  nas: NasState,
  data: Entry,
  parent: NasDataset,
  space: ReadonlyMap<string, DatasetSpace>,
): void {
  const refusals = new ArgumentErrors();
  if (data['type'] === 'VOLUME') {
    const isDraid = nas.pools.get(poolNameOf(parent.id))?.isDraid ?? false;
    data['volblocksize'] ??= isDraid ? '128K' : '16K';
    if (isDraid && blockBytes(data['volblocksize']) < 32 * 1024) {
      const message = 'Volume block size must be greater than or equal to 32K for dRAID pools';
      refusals.add('pool_dataset_create.volblocksize', message);
    }
    validateVolumeSize(refusals, 'pool_dataset_create', data, space.get(parent.id)?.available ?? 0);
  } else {
    const raw = (key: string) => {
      const given = data[key];
      return given && given !== 'INHERIT' ? String(given).toLowerCase() : effectiveProperty(nas, parent, key).raw;
    };
    checkAcl(refusals, 'pool_dataset_create', raw('acltype'), raw('aclmode'));
    validateRecordSize(refusals, 'pool_dataset_create', data);
  }
  refusals.check();
}

function checkAcl(refusals: ArgumentErrors, schema: string, type: string, mode: string): void {
  if (type !== 'nfsv4' && mode !== 'discard') {
    refusals.add(`${schema}.aclmode`, 'Must be set to DISCARD when acltype is POSIX or OFF');
  } else if (type === 'nfsv4' && mode === 'discard') {
    refusals.add(`${schema}.aclmode`, 'DISCARD aclmode may not be set for NFSv4 acl type');
  }
}

const recordSizes = ['512', '512B', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K', '256K', '512K', '1M'];

/** Validates `recordsize`. */
export function validateRecordSize(refusals: ArgumentErrors, schema: string, data: Entry): void {
  const size = data['recordsize'];
  if (size && size !== 'INHERIT' && ![...recordSizes, '2M', '4M', '8M', '16M'].includes(String(size))) {
    refusals.add(`${schema}.recordsize`, `'${size}' is an invalid recordsize.`);
  }
}

/** The 80 % rule and the multiple of the block size. */
export function validateVolumeSize(refusals: ArgumentErrors, schema: string, data: Entry, available: number): void {
  const size = Number(data['volsize']);
  if (size > available * 0.8 && data['force_size'] !== true) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add(`${schema}.volsize`, message);
  }
  if (size % blockBytes(data['volblocksize']) !== 0) {
    refusals.add(`${schema}.volsize`, 'Volume size should be a multiple of volume block size');
  }
}

/** Validates the location of a new dataset: existing datasets, and locked or encrypted ancestors. */
export function validateParent(nas: NasState, data: Entry, name: string, parent: NasDataset): void {
  const refusals = new ArgumentErrors();
  const at = 'pool_dataset_create.name';
  if (parent.type === 'VOLUME') refusals.add(at, `${parent.id}: parent may not be a ZFS volume`);
  if (existsOnNas(nas, mountpointOf(name))) refusals.add(at, `Path ${mountpointOf(name)} already exists`);
  if (isLocked(nas, parent)) refusals.add(at, `${parentDatasetOf(name)} must be unlocked to create ${name}.`);
  if (data['encryption'] === true) checkEncryption(refusals, nas, data, parent);
  else if (data['inherit_encryption'] === false && encryptionRoot(nas, parent)) {
    const message = `Cannot create an unencrypted dataset within an encrypted dataset (${parent.id}).`;
    refusals.add('pool_dataset_create.encryption', message);
  }
  refusals.check();
}

function checkEncryption(refusals: ArgumentErrors, nas: NasState, data: Entry, parent: NasDataset): void {
  const options = data['encryption_options'] as Entry;
  if (data['inherit_encryption'] === true) {
    refusals.add('pool_dataset_create.inherit_encryption', 'Must be disabled when encryption is enabled.');
  }
  const root = encryptionRoot(nas, parent);
  if (!options['passphrase'] && root?.encryption?.format === 'passphrase') {
    const message = 'Passphrase encrypted datasets cannot have children encrypted with a key.';
    refusals.add('pool_dataset_create.encryption', message);
  }
  if (!options['key'] && !options['passphrase'] && options['generate_key'] !== true) {
    const message =
      'Please provide a key or select generate_key to automatically generate a key when passphrase is not provided.';
    refusals.add('pool_dataset_create.encryption_options.key', message);
  }
}
