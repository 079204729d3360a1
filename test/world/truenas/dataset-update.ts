import { checkRecordSize, checkVolumeSize } from './dataset-check.ts';
import { userProperties } from './dataset-entry.ts';
import { applyProperties, applyUserProperties, hidden } from './dataset-properties.ts';
import { describeTree } from './dataset-query.ts';
import { CallError, errnos, notFound, Refusals } from './errors.ts';
import type { Context } from './method.ts';
import type { Dataset, Nas } from './nas.ts';
import type { Entry } from './query.ts';
import {
  isImported,
  isWritable,
  parentOf,
  reckonSpace,
  resizeVolume,
  type Space,
  thickReservation,
  volumeSize,
} from './storage.ts';

/** `pool.dataset.update`. */
export async function updateDataset(id: string, data: Entry, { nas }: Context): Promise<Entry> {
  const dataset = nas.datasets.get(id);
  const refusals = new Refusals();
  if (!dataset || hidden.test(id) || !isImported(nas, id)) {
    refusals.add('id', `${id} does not exist`, errnos.ENOENT);
    refusals.check();
    throw notFound('PoolDataset', id);
  }
  const space = reckonSpace(nas);
  if (dataset.type === 'VOLUME') checkVolumeUpdate(refusals, dataset, data, space);
  else checkFilesystemUpdate(refusals, data);
  checkUserPropertyUpdate(refusals, data);
  refusals.check();

  if (!isWritable(nas, id)) throw new CallError('Failed to update dataset: pool I/O is currently suspended');
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
  const updated = describeTree(nas, dataset, reckonSpace(nas));
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
