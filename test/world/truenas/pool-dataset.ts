import { describeDataset, effective, encryptionRoot, userProperties } from './dataset-entry.ts';
import {
  datasetCreate,
  datasetDelete,
  datasetLock,
  datasetUnlock,
  datasetUpdate,
  isDatasetName,
} from './dataset-model.ts';
import { CallError, errnos, notFound, Refusals } from './errors.ts';
import { devicesOf, shutDownVm, stateOf } from './machines.ts';
import type { Context, Method } from './method.ts';
import { isRecord, nonEmpty, required, text, withDefault } from './model.ts';
import type { Dataset, Nas } from './nas.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters, textId } from './query.ts';
import {
  childrenOf,
  erase,
  exists,
  isOpen,
  materialize,
  mountpointOf,
  parentOf,
  realPath,
  reckonSpace,
  resizeVolume,
  type Space,
  thickReservation,
  volumeSize,
  zvolName,
  zvolPath,
} from './storage.ts';

const noSpace: Space = { own: 0, refreservation: 0, children: 0, used: 0, available: 0 };
const hidden = /\/(\.system|ix-applications|ix-apps|\.ix-virt)(\/|$)/;

/** API name → ZFS name of what is written in lower case. */
const enumerations: Readonly<Record<string, string>> = {
  aclmode: 'aclmode',
  acltype: 'acltype',
  atime: 'atime',
  casesensitivity: 'casesensitivity',
  checksum: 'checksum',
  compression: 'compression',
  deduplication: 'dedup',
  exec: 'exec',
  readonly: 'readonly',
  snapdir: 'snapdir',
  snapdev: 'snapdev',
  sync: 'sync',
};
const numeric: Readonly<Record<string, string>> = {
  copies: 'copies',
  quota: 'quota',
  refquota: 'refquota',
  reservation: 'reservation',
  refreservation: 'refreservation',
  volsize: 'volsize',
  special_small_block_size: 'special_small_blocks',
};

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
    run: async ([id], { nas }) => describeTree(nas, getDataset(nas, String(id)), await reckonSpace(nas)),
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
      if (!nas.pools.has(String(pool))) throw notFound('Pool', pool);
      return '16K';
    },
  },
];

export function getDataset(nas: Nas, id: string): Dataset {
  const dataset = nas.datasets.get(id);
  if (!dataset || hidden.test(id)) throw notFound('PoolDataset', id);
  return dataset;
}

async function queryDatasets(nas: Nas, filters: unknown, options: QueryOptions): Promise<unknown> {
  const space = await reckonSpace(nas);
  const flat = options.extra['flat'] !== false;
  const visible = [...nas.datasets.values()].filter(({ id }) => !hidden.test(id) && (flat || !id.includes('/')));
  const entries = visible
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((dataset) => describeTree(nas, dataset, space, options.extra));
  return applyQuery(entries, filters, options);
}

function describeTree(nas: Nas, dataset: Dataset, space: ReadonlyMap<string, Space>, extra: Entry = {}): Entry {
  const entry = describeDataset(nas, dataset, space.get(dataset.id) ?? noSpace, extra);
  const direct = childrenOf(nas, dataset.id).filter(({ id }) => parentOf(id) === dataset.id && !hidden.test(id));
  if (extra['snapshots'] === true) entry['snapshots'] = [];
  if (extra['retrieve_children'] !== false) {
    entry['children'] = direct.map((child) => describeTree(nas, child, space, extra));
  }
  return entry;
}

async function createDataset(data: Entry, { nas }: Context): Promise<Entry> {
  const name = String(data['name']);
  const space = await reckonSpace(nas);
  const parent = checkNewName(nas, data, name);
  checkKind(nas, data, parent, space);
  checkPlace(nas, data, name, parent);

  const missing: string[] = [];
  for (let at = parentOf(name); at !== undefined && !nas.datasets.has(at); at = parentOf(at)) missing.unshift(at);
  // A zvol has no mount point, so only ZFS itself notices that it exists.
  if (nas.datasets.has(name)) {
    throw new CallError(`Failed to create dataset: cannot create '${name}': dataset already exists`);
  }
  const dataset = toDataset(nas, data, name);
  const reserved = Number(dataset.properties.get('refreservation') ?? 0);
  if (reserved > (space.get(parent.id)?.available ?? 0)) {
    throw new CallError(`Failed to create dataset: cannot create '${name}': out of space`);
  }
  for (const id of missing) await add(nas, newDataset(id, 'FILESYSTEM'));
  await add(nas, dataset);
  const created = describeTree(nas, dataset, await reckonSpace(nas));
  nas.events.emit({ collection: 'pool.dataset.query', msg: 'added', id: name, fields: created });
  return created;
}

async function add(nas: Nas, dataset: Dataset): Promise<void> {
  nas.datasets.set(dataset.id, dataset);
  await materialize(nas, dataset);
}

/** A dataset with nothing set. */
export const newDataset = (id: string, type: Dataset['type']): Dataset => ({
  id,
  type,
  properties: new Map(),
  userProperties: new Map(),
  createdAt: new Date(),
  encryption: null,
});

function checkNewName(nas: Nas, data: Entry, name: string): Dataset {
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
    if (!parent && data['create_ancestors'] === true) {
      refusals.add(at, 'Please specify a pool which exists for the dataset/volume to be created');
    } else if (!parent) {
      const kind = parentName.includes('/') ? 'Parent dataset' : 'zpool';
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

function checkKind(nas: Nas, data: Entry, parent: Dataset, space: ReadonlyMap<string, Space>): void {
  const refusals = new Refusals();
  if (data['type'] === 'VOLUME') {
    data['volblocksize'] ??= '16K';
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

function checkRecordSize(refusals: Refusals, schema: string, data: Entry): void {
  const size = data['recordsize'];
  if (size && size !== 'INHERIT' && ![...recordSizes, '2M', '4M', '8M', '16M'].includes(String(size))) {
    refusals.add(`${schema}.recordsize`, `'${size}' is an invalid recordsize.`);
  }
}

function checkVolumeSize(refusals: Refusals, schema: string, data: Entry, available: number): void {
  const size = Number(data['volsize']);
  if (size > available * 0.8 && data['force_size'] !== true) {
    const message = 'It is not recommended to use more than 80% of your available space for VOLUME';
    refusals.add(`${schema}.volsize`, message);
  }
  if (size % blockBytes(data['volblocksize']) !== 0) {
    refusals.add(`${schema}.volsize`, 'Volume size should be a multiple of volume block size');
  }
}

/** "16K" → 16384. */
export function blockBytes(name: unknown): number {
  const shown = String(name);
  const unit = shown.endsWith('M') ? 1024 ** 2 : shown.endsWith('K') ? 1024 : 1;
  return Number.parseInt(shown, 10) * unit;
}

function checkPlace(nas: Nas, data: Entry, name: string, parent: Dataset): void {
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

function toDataset(nas: Nas, data: Entry, name: string): Dataset {
  const dataset = newDataset(name, data['type'] === 'VOLUME' ? 'VOLUME' : 'FILESYSTEM');
  applyProperties(dataset, data);
  if (dataset.type === 'VOLUME') {
    const block = blockBytes(data['volblocksize']);
    dataset.properties.set('volblocksize', String(block));
    if (data['sparse'] !== true && data['refreservation'] === undefined) {
      dataset.properties.set('refreservation', String(thickReservation(volumeSize(dataset), block)));
    }
  }
  if (!nas.version.dropsUserProperties) applyUserProperties(dataset, data['user_properties'] as Entry[]);
  if (data['encryption'] === true) {
    const options = data['encryption_options'] as Entry;
    const secret = options['passphrase'] ?? options['key'] ?? 'generated';
    const format = options['passphrase'] ? 'passphrase' : 'hex';
    dataset.encryption = { algorithm: String(options['algorithm']), format, secret: String(secret), loaded: true };
    dataset.properties.set('pbkdf2iters', options['passphrase'] ? String(options['pbkdf2iters']) : '0');
  }
  return dataset;
}

function applyProperties(dataset: Dataset, data: Entry): void {
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) dataset.properties.delete(name);
    else dataset.properties.set(name, value);
  };
  for (const [key, name] of Object.entries(enumerations)) {
    if (key in data) set(name, data[key] === 'INHERIT' ? undefined : String(data[key]).toLowerCase());
  }
  for (const [key, name] of Object.entries(numeric)) {
    if (key in data) set(name, data[key] === 'INHERIT' ? undefined : String(data[key] ?? 0));
  }
  if ('recordsize' in data) {
    set('recordsize', data['recordsize'] === 'INHERIT' ? undefined : String(blockBytes(data['recordsize'])));
  }
  for (const [key, name] of [
    ['comments', 'org.freenas:description'],
    ['managedby', 'org.truenas:managedby'],
  ] as const) {
    if (!(key in data)) continue;
    if (data[key] === 'INHERIT') dataset.userProperties.delete(name);
    else dataset.userProperties.set(name, String(data[key]));
  }
}

function applyUserProperties(dataset: Dataset, list: readonly Entry[]): void {
  for (const { key, value, remove } of list) {
    if (value !== undefined) dataset.userProperties.set(String(key), String(value));
    else if (remove === true) dataset.userProperties.delete(String(key));
  }
}

async function updateDataset(id: string, data: Entry, { nas }: Context): Promise<Entry> {
  const dataset = nas.datasets.get(id);
  const refusals = new Refusals();
  if (!dataset || hidden.test(id)) {
    refusals.add('id', `${id} does not exist`, errnos.ENOENT);
    refusals.check();
    throw notFound('PoolDataset', id);
  }
  const space = await reckonSpace(nas);
  if (dataset.type === 'VOLUME') checkVolumeUpdate(refusals, dataset, data, space);
  else checkFilesystemUpdate(refusals, data);
  checkUserPropertyUpdate(refusals, data);
  refusals.check();

  const before = volumeSize(dataset);
  const wasThick = dataset.properties.has('refreservation');
  applyProperties(dataset, data);
  applyUserProperties(dataset, propertyChanges(nas, dataset, data));
  if (dataset.type === 'VOLUME' && volumeSize(dataset) !== before) {
    // ZFS lets the reservation of a thick volume grow with it.
    if (wasThick && data['refreservation'] === undefined) {
      const block = Number(dataset.properties.get('volblocksize'));
      dataset.properties.set('refreservation', String(thickReservation(volumeSize(dataset), block)));
    }
    await resizeVolume(nas, dataset);
  }
  const updated = describeTree(nas, dataset, await reckonSpace(nas));
  nas.events.emit({ collection: 'pool.dataset.query', msg: 'changed', id, fields: updated });
  return updated;
}

const volumeInvalid = ['aclmode', 'acltype', 'atime', 'casesensitivity', 'quota', 'refquota', 'recordsize'];

function checkVolumeUpdate(refusals: Refusals, dataset: Dataset, data: Entry, space: ReadonlyMap<string, Space>): void {
  const schema = 'pool_dataset_update';
  for (const key of volumeInvalid) {
    if (key in data) refusals.add(`${schema}.${key}`, 'This field is not valid for VOLUME');
  }
  if (data['volsize'] === undefined) return;
  const own = space.get(dataset.id)?.used ?? 0;
  const above = space.get(parentOf(dataset.id) ?? '')?.available ?? 0;
  const block = dataset.properties.get('volblocksize');
  checkVolumeSize(refusals, schema, { ...data, volblocksize: block }, above + own);
  if (Number(data['volsize']) < volumeSize(dataset)) {
    refusals.add(`${schema}.volsize`, 'You cannot shrink a zvol from GUI, this may lead to data loss.');
  }
}

function checkFilesystemUpdate(refusals: Refusals, data: Entry): void {
  for (const key of ['force_size', 'sparse', 'volsize', 'volblocksize']) {
    if (key in data) refusals.add(`pool_dataset_update.${key}`, 'This field is not valid for FILESYSTEM');
  }
  checkRecordSize(refusals, 'pool_dataset_update', data);
}

function checkUserPropertyUpdate(refusals: Refusals, data: Entry): void {
  const changes = data['user_properties_update'] as Entry[] | undefined;
  const all = data['user_properties'] as Entry[] | undefined;
  if (all?.length && changes?.length) {
    const message = 'Should not be specified when "user_properties" are explicitly specified';
    refusals.add('pool_dataset_update.user_properties_update', message);
    return;
  }
  for (const [index, change] of (changes ?? []).entries()) {
    const at = `pool_dataset_update.user_properties_update.${index}`;
    if ('value' in change && change['remove'] === true) {
      refusals.add(`${at}.remove`, 'When "value" is specified, this cannot be set');
    } else if (!('value' in change) && !('remove' in change)) {
      refusals.add(`${at}.value`, 'Either "value" or "remove" must be specified');
    }
  }
}

/** `user_properties` replaces what is there; `user_properties_update` changes what it names. */
function propertyChanges(nas: Nas, dataset: Dataset, data: Entry): Entry[] {
  const all = data['user_properties'] as Entry[] | undefined;
  if (!all?.length) return (data['user_properties_update'] as Entry[] | undefined) ?? [];
  const kept = new Set(all.map(({ key }) => String(key)));
  const gone = Object.keys(userProperties(nas, dataset)).filter((key) => !kept.has(key));
  return [...all, ...gone.map((key) => ({ key, remove: true }))];
}

async function deleteDataset(nas: Nas, id: string, { recursive }: { recursive: boolean }): Promise<true> {
  const below = childrenOf(nas, id);
  if (below.length > 0 && !recursive) {
    const message = `Failed to delete dataset: cannot destroy '${id}': filesystem has children`;
    throw new CallError(message, errnos.ENOTEMPTY);
  }
  const dataset = getDataset(nas, id);
  if (dataset.type === 'FILESYSTEM') stopAttached(nas, mountpointOf(id));
  if (!id.includes('/')) {
    throw new CallError(`Failed to delete dataset: cannot destroy '${id}': operation does not apply to pools`);
  }
  const busy = [...below, dataset].find((one) => isBusy(nas, one));
  if (busy && !nas.version.deleteAlwaysTrue) {
    const what = busy.type === 'VOLUME' ? `cannot destroy '${busy.id}': dataset is busy` : unmountRefusal(busy);
    throw new CallError(`Failed to delete dataset: ${what}`, errnos.EBUSY);
  }
  if (!busy) await destroyTree(nas, dataset);
  return true;
}

const unmountRefusal = (dataset: Dataset) => `cannot unmount '${mountpointOf(dataset.id)}': pool or dataset is busy`;

/** Takes a dataset with all below it. */
export async function destroyTree(nas: Nas, dataset: Dataset): Promise<void> {
  for (const one of [...childrenOf(nas, dataset.id).reverse(), dataset]) {
    await erase(nas, one);
    nas.events.emit({ collection: 'pool.dataset.query', msg: 'removed', id: one.id });
  }
}

/**
 * Before a filesystem goes, every running VM with a disk or CD-ROM below it is told to shut down. Nobody waits for it
 * (middleware: plugins/vm/attachments.py).
 */
function stopAttached(nas: Nas, mountpoint: string): void {
  for (const vm of nas.vms.values()) {
    if (stateOf(nas, vm) !== 'RUNNING') continue;
    const isBelow = devicesOf(nas, vm).some(({ attributes }) => {
      if (!['DISK', 'RAW', 'CDROM'].includes(String(attributes['dtype']))) return false;
      const path = String(attributes['path'] ?? '');
      const at = path.startsWith('/dev/zvol/') ? mountpointOf(zvolName(path)) : path;
      return at === mountpoint || at.startsWith(`${mountpoint}/`);
    });
    if (!isBelow) continue;
    const request = { method: 'vm.stop', arguments: [vm.id], owner: undefined, messageId: undefined, abortable: false };
    nas.jobs.start({ ...request, lock: `stop_vm_${vm.id}` }, async () => {
      if (stateOf(nas, vm) !== 'RUNNING') throw new CallError("VM state is currently not 'RUNNING'");
      await shutDownVm(nas, vm, Number(vm.row['shutdown_timeout']));
    });
  }
}

/** A zvol or a file of the filesystem is open in a running machine. */
export function isBusy(nas: Nas, dataset: Dataset): boolean {
  if (dataset.type === 'VOLUME') return isOpen(nas, zvolPath(dataset.id));
  const folder = `${realPath(nas, mountpointOf(dataset.id))}/`;
  return [...nas.vms.values()].some((vm) => vm.guest?.paths.some((path) => path.startsWith(folder)));
}

export function isLocked(nas: Nas, dataset: Dataset): boolean {
  const root = encryptionRoot(nas, dataset);
  return root !== undefined && !root.encryption?.loaded;
}

function lockDataset(nas: Nas, id: string): true {
  const dataset = getDataset(nas, id);
  const refusals = new Refusals();
  if (!dataset.encryption) refusals.add('id', 'Dataset is not encrypted');
  else if (!dataset.encryption.loaded) refusals.add('id', 'Dataset is already locked');
  else if (dataset.encryption.format !== 'passphrase') {
    refusals.add('id', 'Only datasets which are encrypted with passphrase can be locked');
  }
  refusals.check();
  if (isBusy(nas, dataset)) throw new CallError(`cannot unmount '${id}': pool or dataset is busy`, errnos.EBUSY);
  if (dataset.encryption) dataset.encryption.loaded = false;
  return true;
}

function unlockDataset(nas: Nas, id: string, options: { datasets: Entry[] }): Entry {
  const dataset = getDataset(nas, id);
  const refusals = new Refusals();
  if (!dataset.encryption) refusals.add('id', `${id} is not encrypted`);
  else if (dataset.encryption.loaded) refusals.add('id', `${id} dataset is not locked`);
  refusals.check();
  const given = options.datasets.find(({ name }) => name === id);
  const secret = isRecord(given) ? (given['passphrase'] ?? given['key']) : undefined;
  if (dataset.encryption?.secret !== secret) {
    return { unlocked: [], failed: { [id]: { error: secret ? 'Invalid Key' : 'Missing key', skipped: [] } } };
  }
  if (dataset.encryption) dataset.encryption.loaded = true;
  return { unlocked: [id], failed: {} };
}
