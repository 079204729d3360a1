import type { Entry } from '../middleware/query.ts';
import { type NasDataset, type NasState, toExtendedJsonDate } from '../nas-state.ts';
import {
  type DatasetSpace,
  encryptionRoot,
  mountpointOf,
  parentDatasetOf,
  poolNameOf,
  volumeSize,
} from '../storage/dataset-files.ts';

type Source = 'LOCAL' | 'INHERITED' | 'DEFAULT' | 'NONE';

interface EffectiveProperty {
  readonly raw: string;
  readonly source: Source;
  readonly from: string | null;
}

const defaults: Readonly<Record<string, string>> = {
  aclmode: 'discard',
  acltype: 'off',
  atime: 'on',
  casesensitivity: 'sensitive',
  checksum: 'on',
  compression: 'on',
  copies: '1',
  dedup: 'off',
  exec: 'on',
  quota: '0',
  readonly: 'off',
  recordsize: '131072',
  refquota: '0',
  refreservation: '0',
  reservation: '0',
  snapdev: 'hidden',
  snapdir: 'hidden',
  special_small_blocks: '0',
  sync: 'standard',
  xattr: 'on',
  encryption: 'off',
  keyformat: 'none',
  pbkdf2iters: '0',
};
const neverInherited = new Set(['quota', 'refquota', 'reservation', 'refreservation', 'volsize', 'volblocksize']);
const shared = ['checksum', 'compression', 'copies', 'readonly', 'refreservation', 'reservation', 'snapdev', 'sync'];
const filesystemOnly = [
  'aclmode',
  'acltype',
  'atime',
  'casesensitivity',
  'exec',
  'quota',
  'recordsize',
  'refquota',
  'snapdir',
  'xattr',
];
const numbers = new Set(['copies', 'recordsize', 'volblocksize']);
const sizes = new Set(['quota', 'refquota', 'reservation', 'refreservation', 'volsize']);
/** The API's description and similar fields are stored as user properties that are not shown as such. */
const internalProperties: Readonly<Record<string, string>> = {
  'org.freenas:description': 'comments',
  'org.truenas:managedby': 'managedby',
};

/** The value of a property: local, inherited, or ZFS's default. */
export function effectiveProperty(nas: NasState, dataset: NasDataset, name: string): EffectiveProperty {
  const own = dataset.properties.get(name);
  if (own !== undefined) return { raw: own, source: 'LOCAL', from: null };
  if (!neverInherited.has(name)) {
    for (let at = parentDatasetOf(dataset.id); at !== undefined; at = parentDatasetOf(at)) {
      const raw = nas.datasets.get(at)?.properties.get(name);
      if (raw !== undefined) return { raw, source: 'INHERITED', from: at };
    }
  }
  return { raw: defaults[name] ?? '', source: 'DEFAULT', from: null };
}

/** One `PoolDatasetEntry` without its children. */
export function describeDataset(nas: NasState, dataset: NasDataset, space: DatasetSpace, extra: Entry = {}): Entry {
  const isVolume = dataset.type === 'VOLUME';
  const names = [...shared, ...(isVolume ? [] : filesystemOnly)];
  const root = encryptionRoot(nas, dataset);
  const entry: Entry = {
    id: dataset.id,
    type: dataset.type,
    name: dataset.id,
    pool: poolNameOf(dataset.id),
    encrypted: root !== undefined,
    encryption_root: root?.id ?? null,
    key_loaded: root?.encryption?.loaded ?? false,
    locked: root !== undefined && !root.encryption?.loaded,
    mountpoint: isVolume ? null : mountpointOf(dataset.id),
    deduplication: property(nas, dataset, 'dedup'),
    encryption_algorithm: constantProperty(root?.encryption?.algorithm.toLowerCase() ?? 'off', root !== undefined),
    key_format: constantProperty(root?.encryption?.format ?? 'none', root !== undefined),
    pbkdf2iters: property(nas, dataset, 'pbkdf2iters'),
    origin: origin(dataset),
    compressratio: { parsed: '1.00', rawvalue: '1.00', value: '1.00x', source: 'NONE', source_info: null },
    creation: creation(dataset.createdAt),
    used: bytes(space.used),
    usedbychildren: bytes(space.children),
    usedbydataset: bytes(space.own),
    usedbyrefreservation: bytes(space.refreservation),
    usedbysnapshots: bytes(0),
    available: bytes(space.available),
    ...Object.fromEntries(names.map((name) => [name, property(nas, dataset, name)])),
    ...internals(nas, dataset),
  };
  if (isVolume) {
    entry['volsize'] = { ...property(nas, dataset, 'volsize'), parsed: volumeSize(dataset) };
    entry['volblocksize'] = property(nas, dataset, 'volblocksize');
  } else entry['special_small_block_size'] = property(nas, dataset, 'special_small_blocks');
  const wanted = extra['properties'];
  if (Array.isArray(wanted)) retainOnly(entry, wanted.map(String));
  if (extra['retrieve_user_props'] !== false) entry['user_properties'] = userProperties(nas, dataset);
  return entry;
}

/** User properties including inherited ones, as ZFS inherits them. */
export function userProperties(nas: NasState, dataset: NasDataset): Record<string, Entry> {
  const result: Record<string, Entry> = {};
  for (let at: string | undefined = dataset.id; at !== undefined; at = parentDatasetOf(at)) {
    for (const [key, value] of nas.datasets.get(at)?.userProperties ?? []) {
      if (key in result || key in internalProperties) continue;
      const source = at === dataset.id ? 'LOCAL' : 'INHERITED';
      const from = at === dataset.id ? null : at;
      result[key] = { parsed: value, rawvalue: value, value, source, source_info: from };
    }
  }
  return result;
}

/** "2.49 TiB", "16K" and "0 bytes" as the middleware prints them. */
export function humanBytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  const power = Math.min(5, Math.floor(Math.log2(count) / 10));
  const unit = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power - 1];
  return `${Number((count / 1024 ** power).toFixed(2))} ${unit}`;
}

function property(nas: NasState, dataset: NasDataset, name: string): Entry {
  const { raw, source, from } = effectiveProperty(nas, dataset, name);
  return { parsed: parsed(name, raw), rawvalue: raw, value: displayValue(name, raw), source, source_info: from };
}

function parsed(name: string, raw: string): unknown {
  if (sizes.has(name)) return raw === '0' || raw === '' ? null : Number(raw);
  if (numbers.has(name)) return Number(raw);
  const isSwitch = ['atime', 'exec', 'readonly', 'checksum', 'xattr'].includes(name);
  return isSwitch && (raw === 'on' || raw === 'off') ? raw === 'on' : raw;
}

function displayValue(name: string, raw: string): string | null {
  if (sizes.has(name)) return raw === '0' || raw === '' ? null : humanBytes(Number(raw));
  if (name === 'recordsize' || name === 'volblocksize') {
    const size = Number(raw);
    return size >= 1024 ** 2 ? `${size / 1024 ** 2}M` : size >= 1024 ? `${size / 1024}K` : String(size);
  }
  return raw.toUpperCase();
}

function origin({ origin: snapshot }: NasDataset): Entry {
  const raw = snapshot ?? '';
  return { parsed: raw, rawvalue: raw, value: raw.toUpperCase(), source: 'NONE', source_info: null };
}

const bytes = (count: number): Entry => ({
  parsed: count,
  rawvalue: String(count),
  value: humanBytes(count),
  source: 'NONE',
  source_info: null,
});

function constantProperty(raw: string, isSet: boolean): Entry {
  const value = isSet ? raw.toUpperCase() : null;
  return { parsed: raw, rawvalue: raw, value, source: isSet ? 'LOCAL' : 'DEFAULT', source_info: null };
}

function creation(date: Date): Entry {
  const seconds = Math.floor(date.getTime() / 1000);
  return {
    parsed: toExtendedJsonDate(new Date(seconds * 1000)),
    rawvalue: String(seconds),
    value: date.toUTCString(),
    source: 'NONE',
    source_info: null,
  };
}

function internals(nas: NasState, dataset: NasDataset): Entry {
  const result: Entry = {};
  for (const [stored, name] of Object.entries(internalProperties)) {
    for (let at: string | undefined = dataset.id; at !== undefined; at = parentDatasetOf(at)) {
      const value = nas.datasets.get(at)?.userProperties.get(stored);
      if (value === undefined) continue;
      const source = at === dataset.id ? 'LOCAL' : 'INHERITED';
      result[name] = { parsed: value, rawvalue: value, value, source, source_info: at === dataset.id ? null : at };
      break;
    }
  }
  return result;
}

const always = new Set(['id', 'type', 'name', 'pool', 'encrypted', 'encryption_root', 'key_loaded', 'locked']);

function retainOnly(entry: Entry, wanted: readonly string[]): void {
  for (const key of Object.keys(entry)) {
    if (!always.has(key) && !wanted.includes(key)) delete entry[key];
  }
}
