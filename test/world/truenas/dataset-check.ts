import { effective } from './dataset-entry.ts';
import { isDatasetName } from './dataset-model.ts';
import { blockBytes, hidden } from './dataset-properties.ts';
import { CallError, Refusals } from './errors.ts';
import type { Dataset, Nas } from './nas.ts';
import type { Entry } from './query.ts';
import { encryptionRoot, exists, isImported, isLocked, mountpointOf, parentOf, poolOf, type Space } from './storage.ts';

/** Judges the name of a new dataset and returns what it will hang below. */
export function checkNewName(nas: Nas, data: Entry, name: string): Dataset {
  const refusals = new Refusals();
  const at = 'pool_dataset_create.name';
  let parent: Dataset | undefined;
  if (!name.includes('/')) refusals.add(at, 'You need a full name, e.g. pool/newdataset');
  else if (!isDatasetName(name)) refusals.add(at, 'Invalid dataset name');
  else if (name.endsWith(' ')) refusals.add(at, 'Trailing spaces are not permitted in dataset names');
  else {
    const parentName = parentOf(name) ?? name;
    let above: string | undefined = parentName;
    if (data['create_ancestors'] === true) while (above && !nas.datasets.has(above)) above = parentOf(above);
    parent = above === undefined ? undefined : nas.datasets.get(above);
    if (parent && !isImported(nas, parent.id)) parent = undefined;
    if (!parent && data['create_ancestors'] === true) {
      refusals.add(at, 'Please specify a pool which exists for the dataset/volume to be created');
    } else if (!parent) {
      const kind = parentName.includes('/') && isImported(nas, parentName) ? 'Parent dataset' : 'zpool';
      refusals.add(at, `${kind} (${parentName}) does not exist.`);
    } else if (effective(nas, parent, 'readonly').raw === 'on') {
      refusals.add('pool_dataset_create.readonly', `Turn off readonly mode on ${parent.id} to create ${name}`);
    }
  }
  if (hidden.test(`${name}/`)) {
    refusals.add(at, `'${name}' is using system internal managed dataset. Please specify a different parent.`);
  }
  refusals.check();
  if (!parent) throw new CallError('unreachable');
  return parent;
}

/** Judges what only a filesystem or only a volume has. A volume without a block size gets the usual one. */
export function checkKind(nas: Nas, data: Entry, parent: Dataset, space: ReadonlyMap<string, Space>): void {
  const refusals = new Refusals();
  if (data['type'] === 'VOLUME') {
    const isDraid = nas.pools.get(poolOf(parent.id))?.isDraid ?? false;
    data['volblocksize'] ??= isDraid ? '128K' : '16K';
    if (isDraid && blockBytes(data['volblocksize']) < 32 * 1024) {
      const message = 'Volume block size must be greater than or equal to 32K for dRAID pools';
      refusals.add('pool_dataset_create.volblocksize', message);
    }
    checkVolumeSize(refusals, 'pool_dataset_create', data, space.get(parent.id)?.available ?? 0);
  } else {
    const raw = (key: string) => {
      const given = data[key];
      return given && given !== 'INHERIT' ? String(given).toLowerCase() : effective(nas, parent, key).raw;
    };
    checkAcl(refusals, 'pool_dataset_create', raw('acltype'), raw('aclmode'));
    checkRecordSize(refusals, 'pool_dataset_create', data);
  }
  refusals.check();
}

function checkAcl(refusals: Refusals, schema: string, type: string, mode: string): void {
  if (type !== 'nfsv4' && mode !== 'discard') {
    refusals.add(`${schema}.aclmode`, 'Must be set to DISCARD when acltype is POSIX or OFF');
  } else if (type === 'nfsv4' && mode === 'discard') {
    refusals.add(`${schema}.aclmode`, 'DISCARD aclmode may not be set for NFSv4 acl type');
  }
}

const recordSizes = ['512', '512B', '1K', '2K', '4K', '8K', '16K', '32K', '64K', '128K', '256K', '512K', '1M'];

/** Judges `recordsize`. */
export function checkRecordSize(refusals: Refusals, schema: string, data: Entry): void {
  const size = data['recordsize'];
  if (size && size !== 'INHERIT' && ![...recordSizes, '2M', '4M', '8M', '16M'].includes(String(size))) {
    refusals.add(`${schema}.recordsize`, `'${size}' is an invalid recordsize.`);
  }
}

/** The 80 % rule and the multiple of the block size. */
export function checkVolumeSize(refusals: Refusals, schema: string, data: Entry, available: number): void {
  const size = Number(data['volsize']);
  if (size > available * 0.8 && data['force_size'] !== true) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add(`${schema}.volsize`, message);
  }
  if (size % blockBytes(data['volblocksize']) !== 0) {
    refusals.add(`${schema}.volsize`, 'Volume size should be a multiple of volume block size');
  }
}

/** Judges the place of a new dataset: what is there already, and what is locked or encrypted above. */
export function checkPlace(nas: Nas, data: Entry, name: string, parent: Dataset): void {
  const refusals = new Refusals();
  const at = 'pool_dataset_create.name';
  if (parent.type === 'VOLUME') refusals.add(at, `${parent.id}: parent may not be a ZFS volume`);
  if (exists(nas, mountpointOf(name))) refusals.add(at, `Path ${mountpointOf(name)} already exists`);
  if (isLocked(nas, parent)) refusals.add(at, `${parentOf(name)} must be unlocked to create ${name}.`);
  if (data['encryption'] === true) checkEncryption(refusals, nas, data, parent);
  else if (data['inherit_encryption'] === false && encryptionRoot(nas, parent)) {
    const message = `Cannot create an unencrypted dataset within an encrypted dataset (${parent.id}).`;
    refusals.add('pool_dataset_create.encryption', message);
  }
  refusals.check();
}

function checkEncryption(refusals: Refusals, nas: Nas, data: Entry, parent: Dataset): void {
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
