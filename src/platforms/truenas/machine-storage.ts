import { z } from 'zod';
import type { Facts } from '../../engine/platform.ts';
import { foldersElsewhere, pathOfZvol, recordedDisks } from './data-disks.ts';
import type { Stored } from './destroy.ts';
import { Dataset } from './schema.ts';
import type { System } from './system.ts';

/** All that a machine may have on the pools of its system. Whose it is, its mark says to whoever deletes. */
export async function storageOf(system: System, facts: Facts): Promise<readonly Stored[]> {
  const { dataset, zvol } = system.identity;
  return [atFolder(dataset), atZvol(zvol), ...(await furtherStorage(system, facts))];
}

/**
 * What it has beside its dataset and its boot disk. Where nothing was written down, because its Machine is gone or lost its status, it
 * is looked for by name on every pool.
 */
async function furtherStorage(system: System, facts: Facts): Promise<readonly Stored[]> {
  const { dataset, zvol, vmName } = system.identity;
  if (typeof facts['uuid'] === 'string') {
    const disks = recordedDisks(facts);
    return [...disks.map((disk) => atZvol(disk.zvol)), ...foldersElsewhere(disks, dataset).map(atFolder)];
  }
  const named = [
    'OR',
    [
      ['id', '$', `/${vmName}`],
      ['id', 'rin', `/${vmName}/`],
    ],
  ];
  const params = [[named], { extra: { retrieve_children: false } }];
  const found = await system.nas.read('pool.dataset.query', params, z.array(Dataset), { signal: system.signal });
  const others = found.filter(({ id }) => id !== dataset && id !== zvol);
  return others.map(({ id, type }) => (type === 'VOLUME' ? atZvol(id) : atFolder(id)));
}

const atZvol = (id: string): Stored => ({ id, path: pathOfZvol(id) });
const atFolder = (id: string): Stored => ({ id, path: `/mnt/${id}` });
