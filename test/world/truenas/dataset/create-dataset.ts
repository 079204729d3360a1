import { CallError } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import {
  computeSpace,
  createDatasetFiles,
  isWritable,
  parentDatasetOf,
  thickReservation,
  volumeSize,
} from '../storage/dataset-files.ts';
import { applyProperties, applyUserProperties, blockBytes, newDataset } from './dataset-properties.ts';
import { describeDatasetTree } from './query-datasets.ts';
import { validateNewName, validateParent, validateType } from './validate-dataset.ts';

/** `pool.dataset.create`. */
export async function createDataset(data: Entry, { nas }: CallContext): Promise<Entry> {
  const name = String(data['name']);
  const space = computeSpace(nas);
  const parent = validateNewName(nas, data, name);
  validateType(data, parent, space);
  validateParent(nas, data, name, parent);

  const missing: string[] = [];
  for (let at = parentDatasetOf(name); at !== undefined && !nas.datasets.has(at); at = parentDatasetOf(at))
    missing.unshift(at);
  // A zvol has no mount point, so only ZFS itself detects that it exists.
  if (nas.datasets.has(name)) {
    throw new CallError(`Failed to create dataset: cannot create '${name}': dataset already exists`);
  }
  if (!isWritable(nas, name)) {
    throw new CallError(`Failed to create dataset: cannot create '${name}': pool I/O is currently suspended`);
  }
  const dataset = toDataset(nas, data, name);
  const reserved = Number(dataset.properties.get('refreservation') ?? 0);
  if (reserved > (space.get(parent.id)?.available ?? 0)) {
    throw new CallError(`Failed to create dataset: cannot create '${name}': out of space`);
  }
  for (const id of missing) await add(nas, newDataset(id, 'FILESYSTEM'));
  await add(nas, dataset);
  const created = describeDatasetTree(nas, dataset, computeSpace(nas));
  nas.events.emit({ collection: 'pool.dataset.query', msg: 'added', id: name, fields: created });
  return created;
}

async function add(nas: NasState, dataset: NasDataset): Promise<void> {
  nas.datasets.set(dataset.id, dataset);
  await createDatasetFiles(nas, dataset);
}

function toDataset(nas: NasState, data: Entry, name: string): NasDataset {
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
  }
  return dataset;
}
