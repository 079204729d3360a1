import type { Entry } from '../middleware/query.ts';
import type { NasDataset } from '../nas-state.ts';

/** Datasets of the system itself, which the API does not show. */
export const systemDatasetPattern = /\/(\.system|ix-applications|ix-apps|\.ix-virt)(\/|$)/;

/** ZFS stores the API's description as a user property that is not shown as such. */
export const descriptionProperty = 'org.freenas:description';

/** A dataset without local properties. */
export const newDataset = (id: string, type: NasDataset['type']): NasDataset => ({
  id,
  type,
  properties: new Map(),
  userProperties: new Map(),
  createdAt: new Date(),
  encryption: null,
});

/** Sets the ZFS properties of a creation or update. INHERIT removes a property. */
export function applyProperties(dataset: NasDataset, data: Entry): void {
  const set = (to: Map<string, string>, name: string, value: string) => {
    if (value === 'INHERIT') to.delete(name);
    else to.set(name, value);
  };
  if ('readonly' in data)
    set(
      dataset.properties,
      'readonly',
      data['readonly'] === 'INHERIT' ? 'INHERIT' : String(data['readonly']).toLowerCase(),
    );
  for (const key of ['quota', 'refreservation', 'volsize']) {
    if (key in data) set(dataset.properties, key, String(data[key] ?? 0));
  }
  if ('comments' in data) set(dataset.userProperties, descriptionProperty, String(data['comments']));
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
  return Number.parseInt(shown, 10) * (shown.endsWith('K') ? 1024 : 1);
}
