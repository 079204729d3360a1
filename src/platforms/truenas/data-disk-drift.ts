import type { Drift } from '../../engine/observation.ts';
import type { Facts } from '../../engine/platform.ts';
import { type DataDisk, pathOfZvol, recordedDisks } from './data-disks.ts';
import { diskGone, drift, notOurs } from './drift.ts';
import { isOwnDataset } from './identity.ts';
import type { Sight } from './looks.ts';
import { isPoolWorking, type Vm } from './schema.ts';
import type { Context } from './system.ts';
import { lockedDrift } from './unlock.ts';
import { reattach } from './vm-drift.ts';

/** Data disks that a virtual machine was made with and that are not attached to it any more. */
export function dataDiskDrift(vm: Vm, { facts }: Pick<Context, 'facts'>): Drift[] {
  return recordedDisks(facts)
    .map(({ zvol }) => pathOfZvol(zvol))
    .filter((path) => !vm.devices.some(({ attributes }) => attributes.path === path))
    .map((path) => drift('DeviceMissing', `Its disk ${path} is not attached.`, reattach(vm)));
}

/** What has become of the data disks and of the pools that they alone are on. Where a pool does not work, nothing is said of its disks. */
export function dataStorageDrift(sight: Sight, facts: Facts): Drift[] {
  const disks = recordedDisks(facts);
  const further = new Set(disks.map(poolOf).filter((name) => name !== poolOf({ zvol: sight.system.identity.zvol })));
  const broken = [...further].flatMap((name) => poolDrift(sight, name));
  const seen = disks.filter((disk) => works(sight, poolOf(disk)));
  return [...broken, ...seen.flatMap((disk) => diskDrift(sight, disk, facts))];
}

const poolOf = ({ zvol }: Pick<DataDisk, 'zvol'>): string => zvol.slice(0, zvol.indexOf('/'));

const works = ({ pools }: Sight, name: string): boolean =>
  pools.some((pool) => pool.name === name && isPoolWorking(pool));

function poolDrift(sight: Sight, name: string): Drift[] {
  if (works(sight, name)) return [];
  const pool = sight.pools.find((one) => one.name === name);
  const { host } = sight.system.nas;
  return [
    pool
      ? drift('PoolFaulted', `The pool ${name}, which holds a disk of it, is ${pool.status}. Repair it.`)
      : drift('PoolGone', `There is no pool ${name} on ${host} any more, which holds a disk of it. Import it again.`),
  ];
}

function diskDrift({ datasets, system }: Sight, { zvol, folder }: DataDisk, facts: Facts): Drift[] {
  const disk = datasets.get(zvol);
  // That the machine's whole dataset is gone is said already.
  if (!disk && folder === system.identity.dataset && !datasets.has(folder)) return [];
  if (!disk) return [diskGone(zvol)];
  if (!isOwnDataset(disk, system.owner)) return [notOurs(zvol)];
  return disk.locked ? [lockedDrift(disk, system, facts)] : [];
}
