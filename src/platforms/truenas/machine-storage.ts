import { z } from 'zod';
import type { Facts } from '../../engine/platform.ts';
import { foldersElsewhere, pathOfZvol, recordedDisks } from './data-disks.ts';
import { Dataset } from './schema.ts';
import type { System } from './system.ts';

/** A dataset, and the path under which devices of virtual machines would use it. */
interface Stored {
  readonly id: string;
  readonly path: string;
}

/**
 * What a machine has beside its dataset and its boot disk, zvols before what holds them. Where nothing was written down, because
 * its Machine is gone or lost its status, it is looked for by name on every pool; whose it is, its mark says to whoever deletes.
 */
export async function furtherStorage(system: System, facts: Facts): Promise<readonly Stored[]> {
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
  const [volumes, folders] = [others.filter(isVolume), others.filter((one) => !isVolume(one))];
  return [...volumes.map(({ id }) => atZvol(id)), ...folders.map(({ id }) => atFolder(id))];
}

const isVolume = ({ type }: Dataset): boolean => type === 'VOLUME';
const atZvol = (id: string): Stored => ({ id, path: pathOfZvol(id) });
const atFolder = (id: string): Stored => ({ id, path: `/mnt/${id}` });
