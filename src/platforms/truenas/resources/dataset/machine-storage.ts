import { z } from 'zod';
import type { Facts } from '../../../../engine/step.ts';
import { Dataset } from '../../api/schema.ts';
import { filesystemsOnOtherPools, pathOfZvol, recordedDisks } from '../disk/data-disks.ts';
import type { MachineScope } from '../machine-scope.ts';
import type { StoredDataset } from './destroy-datasets.ts';

/** All datasets that a machine may have on the pools of its system. A deletion checks their marks. */
export async function machineStorageOf(system: MachineScope, facts: Facts): Promise<readonly StoredDataset[]> {
  const { dataset, zvol } = system.identity;
  return [toStoredFilesystem(dataset), toStoredZvol(zvol), ...(await additionalStorage(system, facts))];
}

/**
 * Datasets beside the machine's own dataset and boot disk. Without recorded facts, because the Machine is gone or has
 * lost its status, every pool is searched by name.
 */
async function additionalStorage(system: MachineScope, facts: Facts): Promise<readonly StoredDataset[]> {
  const { dataset, zvol, vmName } = system.identity;
  if (typeof facts['uuid'] === 'string') {
    const disks = recordedDisks(facts);
    return [
      ...disks.map((disk) => toStoredZvol(disk.zvol)),
      ...filesystemsOnOtherPools(disks, dataset).map(toStoredFilesystem),
    ];
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
  return others.map(({ id, type }) => (type === 'VOLUME' ? toStoredZvol(id) : toStoredFilesystem(id)));
}

const toStoredZvol = (id: string): StoredDataset => ({ id, path: pathOfZvol(id) });
const toStoredFilesystem = (id: string): StoredDataset => ({ id, path: `/mnt/${id}` });
