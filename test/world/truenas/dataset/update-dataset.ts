import { ArgumentErrors, CallError, errnos, instanceNotFound } from '../middleware/errors.ts';
import type { CallContext } from '../middleware/method.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import {
  computeSpace,
  type DatasetSpace,
  isImported,
  isWritable,
  parentDatasetOf,
  resizeVolume,
  thickReservation,
  volumeSize,
} from '../storage/dataset-files.ts';
import { applyProperties, applyUserProperties, systemDatasetPattern } from './dataset-properties.ts';
import { userPropertyKeys } from './describe-dataset.ts';
import { describeDatasetTree } from './query-datasets.ts';
import { validateVolumeSize } from './validate-dataset.ts';

/** `pool.dataset.update`. */
export async function updateDataset(id: string, data: Entry, { nas }: CallContext): Promise<Entry> {
  const dataset = nas.datasets.get(id);
  const rejections = new ArgumentErrors();
  if (!dataset || systemDatasetPattern.test(id) || !isImported(nas, id)) {
    rejections.add('id', `${id} does not exist`, errnos.ENOENT);
    rejections.check();
    throw instanceNotFound('PoolDataset', id);
  }
  const space = computeSpace(nas);
  if (dataset.type === 'VOLUME') checkVolumeUpdate(rejections, dataset, data, space);
  else checkFilesystemUpdate(rejections, data);
  checkUserPropertyUpdate(rejections, data);
  rejections.check();

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
  const updated = describeDatasetTree(nas, dataset, computeSpace(nas));
  nas.events.emit({ collection: 'pool.dataset.query', msg: 'changed', id, fields: updated });
  return updated;
}

function checkVolumeUpdate(
  rejections: ArgumentErrors,
  dataset: NasDataset,
  data: Entry,
  space: ReadonlyMap<string, DatasetSpace>,
): void {
  const schema = 'pool_dataset_update';
  if ('quota' in data) rejections.add(`${schema}.quota`, 'This field is not valid for VOLUME');
  if (data['volsize'] === undefined) return;
  const own = space.get(dataset.id)?.used ?? 0;
  const above = space.get(parentDatasetOf(dataset.id) ?? '')?.available ?? 0;
  const block = dataset.properties.get('volblocksize');
  validateVolumeSize(rejections, schema, { ...data, volblocksize: block }, above + own);
  if (Number(data['volsize']) < volumeSize(dataset)) {
    rejections.add(`${schema}.volsize`, 'You cannot shrink a zvol from GUI, this may lead to data loss.');
  }
}

function checkFilesystemUpdate(rejections: ArgumentErrors, data: Entry): void {
  for (const key of ['force_size', 'volsize']) {
    if (key in data) rejections.add(`pool_dataset_update.${key}`, 'This field is not valid for FILESYSTEM');
  }
}

function checkUserPropertyUpdate(rejections: ArgumentErrors, data: Entry): void {
  const changes = data['user_properties_update'] as Entry[] | undefined;
  const all = data['user_properties'] as Entry[] | undefined;
  if (all?.length && changes?.length) {
    const message = 'Should not be specified when "user_properties" are explicitly specified';
    rejections.add('pool_dataset_update.user_properties_update', message);
    return;
  }
  for (const [index, change] of (changes ?? []).entries()) {
    const at = `pool_dataset_update.user_properties_update.${index}`;
    if ('value' in change && change['remove'] === true) {
      rejections.add(`${at}.remove`, 'When "value" is specified, this cannot be set');
    } else if (!('value' in change) && !('remove' in change)) {
      rejections.add(`${at}.value`, 'Either "value" or "remove" must be specified');
    }
  }
}

/** `user_properties` replaces all user properties; `user_properties_update` changes only those that it names. */
function propertyChanges(nas: NasState, dataset: NasDataset, data: Entry): Entry[] {
  const all = data['user_properties'] as Entry[] | undefined;
  if (!all?.length) return (data['user_properties_update'] as Entry[] | undefined) ?? [];
  const kept = new Set(all.map(({ key }) => String(key)));
  const gone = userPropertyKeys(nas, dataset).filter((key) => !kept.has(key));
  return [...all, ...gone.map((key) => ({ key, remove: true }))];
}
