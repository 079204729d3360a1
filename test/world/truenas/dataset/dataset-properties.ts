import type { Entry } from '../middleware/query.ts';
import type { NasDataset } from '../nas-state.ts';

/** Datasets of the system itself, which the API does not show. */
export const systemDatasetPattern = /\/(\.system|ix-applications|ix-apps|\.ix-virt)(\/|$)/;

/** API name → ZFS name of the properties with lower-case values. */
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

/** A dataset without local properties. */
export const newDataset = (id: string, type: NasDataset['type'], origin: string | null = null): NasDataset => ({
  id,
  type,
  properties: new Map(),
  userProperties: new Map(),
  createdAt: new Date(),
  origin,
  encryption: null,
});

/** Sets the ZFS properties of a creation or update. INHERIT removes a property. */
export function applyProperties(dataset: NasDataset, data: Entry): void {
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

/** Sets and removes user properties. */
export function applyUserProperties(dataset: NasDataset, list: readonly Entry[]): void {
  for (const { key, value, remove } of list) {
    if (value !== undefined) dataset.userProperties.set(String(key), String(value));
    else if (remove === true) dataset.userProperties.delete(String(key));
  }
}

/** "16K" → 16384. */
export function blockBytes(name: unknown): number {
  const shown = String(name);
  const unit = shown.endsWith('M') ? 1024 ** 2 : shown.endsWith('K') ? 1024 : 1;
  return Number.parseInt(shown, 10) * unit;
}
