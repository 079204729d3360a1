import type { Entry } from '../middleware/query.ts';
import { type NasDataset, type NasState, toExtendedJsonDate } from '../nas-state.ts';
import {
  type DatasetSpace,
  encryptionRoot,
  mountpointOf,
  parentDatasetOf,
  poolNameOf,
} from '../storage/dataset-files.ts';
import { descriptionProperty } from './dataset-properties.ts';

/** A dataset and its ancestors. */
function* lineage(nas: NasState, dataset: NasDataset): Generator<NasDataset> {
  for (let at: string | undefined = dataset.id; at !== undefined; at = parentDatasetOf(at)) {
    const found = nas.datasets.get(at);
    if (found) yield found;
  }
}

/** Whether it may be written: local, or inherited. */
export function isReadOnly(nas: NasState, dataset: NasDataset): boolean {
  const [nearest] = [...lineage(nas, dataset)].flatMap(({ properties }) => properties.get('readonly') ?? []);
  return nearest === 'on';
}

/** One `PoolDatasetEntry` without its children, with the simulated properties. */
export function describeDataset(nas: NasState, dataset: NasDataset, space: DatasetSpace): Entry {
  const isVolume = dataset.type === 'VOLUME';
  const root = encryptionRoot(nas, dataset);
  const { [descriptionProperty]: comments, ...user } = inheritedUserProperties(nas, dataset);
  const isLocal = (name: string) => dataset.properties.has(name);
  const readonly = isReadOnly(nas, dataset) ? 'on' : 'off';
  const seconds = Math.floor(dataset.createdAt.getTime() / 1000);
  return {
    id: dataset.id,
    type: dataset.type,
    name: dataset.id,
    pool: poolNameOf(dataset.id),
    encrypted: root !== undefined,
    encryption_root: root?.id ?? null,
    key_loaded: root?.encryption?.loaded ?? false,
    locked: root !== undefined && !root.encryption?.loaded,
    mountpoint: isVolume ? null : mountpointOf(dataset.id),
    encryption_algorithm: property(root?.encryption?.algorithm.toLowerCase() ?? 'off', root !== undefined),
    key_format: property(root?.encryption?.format ?? 'none', root !== undefined),
    creation: { ...property(String(seconds), false), parsed: toExtendedJsonDate(new Date(seconds * 1000)) },
    used: bytes(space.used),
    usedbychildren: bytes(space.children),
    usedbydataset: bytes(space.own),
    usedbyrefreservation: bytes(space.refreservation),
    available: bytes(space.available),
    readonly: { ...property(readonly, isLocal('readonly')), parsed: readonly === 'on' },
    refreservation: limit(dataset, 'refreservation'),
    ...(comments ? { comments } : {}),
    ...(isVolume
      ? { volsize: limit(dataset, 'volsize'), volblocksize: blockSize(dataset) }
      : { quota: limit(dataset, 'quota') }),
    user_properties: user,
  };
}

/** User properties including inherited ones, as ZFS inherits them. */
function inheritedUserProperties(nas: NasState, dataset: NasDataset): Record<string, Entry> {
  const result: Record<string, Entry> = {};
  for (const { id, userProperties } of lineage(nas, dataset)) {
    const source =
      id === dataset.id ? { source: 'LOCAL', source_info: null } : { source: 'INHERITED', source_info: id };
    for (const [key, value] of userProperties) {
      result[key] ??= { parsed: value, rawvalue: value, value, ...source };
    }
  }
  return result;
}

/** The keys of the user properties that the API shows. */
export const userPropertyKeys = (nas: NasState, dataset: NasDataset): string[] =>
  Object.keys(inheritedUserProperties(nas, dataset)).filter((key) => key !== descriptionProperty);

/** "2.49 TiB" and "0 bytes" as the middleware prints them. */
function humanBytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  const power = Math.min(5, Math.floor(Math.log2(count) / 10));
  const unit = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power - 1];
  return `${Number((count / 1024 ** power).toFixed(2))} ${unit}`;
}

const property = (raw: string, isSet: boolean): Entry => ({
  parsed: raw,
  rawvalue: raw,
  value: raw.toUpperCase(),
  source: isSet ? 'LOCAL' : 'DEFAULT',
  source_info: null,
});

/** A size, which is null when it is 0. */
function limit(dataset: NasDataset, name: string): Entry {
  const raw = dataset.properties.get(name) ?? '0';
  const isSet = raw !== '0';
  return {
    ...property(raw, dataset.properties.has(name)),
    parsed: isSet ? Number(raw) : null,
    value: isSet ? humanBytes(Number(raw)) : null,
  };
}

function blockSize(dataset: NasDataset): Entry {
  const size = Number(dataset.properties.get('volblocksize'));
  return { ...property(String(size), true), parsed: size, value: size >= 1024 ? `${size / 1024}K` : String(size) };
}

const bytes = (count: number): Entry => ({
  parsed: count,
  rawvalue: String(count),
  value: humanBytes(count),
  source: 'NONE',
  source_info: null,
});
