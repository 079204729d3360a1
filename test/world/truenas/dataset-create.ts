import { checkKind, checkNewName, checkPlace } from './dataset-check.ts';
import { applyProperties, applyUserProperties, blockBytes, newDataset } from './dataset-properties.ts';
import { describeTree } from './dataset-query.ts';
import { CallError } from './errors.ts';
import type { Context } from './method.ts';
import type { Dataset, Nas } from './nas.ts';
import type { Entry } from './query.ts';
import { isWritable, materialize, parentOf, reckonSpace, thickReservation, volumeSize } from './storage.ts';

/** `pool.dataset.create`. */
export async function createDataset(data: Entry, { nas }: Context): Promise<Entry> {
  const name = String(data['name']);
  const space = reckonSpace(nas);
  const parent = checkNewName(nas, data, name);
  checkKind(nas, data, parent, space);
  checkPlace(nas, data, name, parent);

  const missing: string[] = [];
  for (let at = parentOf(name); at !== undefined && !nas.datasets.has(at); at = parentOf(at)) missing.unshift(at);
  // A zvol has no mount point, so only ZFS itself notices that it exists.
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
  const created = describeTree(nas, dataset, reckonSpace(nas));
  nas.events.emit({ collection: 'pool.dataset.query', msg: 'added', id: name, fields: created });
  return created;
}

async function add(nas: Nas, dataset: Dataset): Promise<void> {
  nas.datasets.set(dataset.id, dataset);
  await materialize(nas, dataset);
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
