import type { Drift } from '../../../engine/observation.ts';
import type { Facts } from '../../../engine/step.ts';
import { isPoolWorking, type Vm } from '../api/schema.ts';
import { lockedDrift } from '../resources/dataset/unlock.ts';
import { type DataDisk, pathOfZvol, recordedDisks } from '../resources/disk/data-disks.ts';
import { isOwnDataset } from '../resources/identity.ts';
import type { TrueNasStepContext } from '../resources/machine-scope.ts';
import { diskGoneDrift, drift, notOwnedDrift } from './drift.ts';
import type { TrueNasMachineSnapshot } from './machine-snapshot.ts';
import { reattachRepair } from './vm-drift.ts';

/** Data disks that are recorded but not attached to the virtual machine. */
export function dataDiskDrift(vm: Vm, { facts }: Pick<TrueNasStepContext, 'facts'>): Drift[] {
  return recordedDisks(facts)
    .map(({ zvol }) => pathOfZvol(zvol))
    .filter((path) => !vm.devices.some(({ attributes }) => attributes.path === path))
    .map((path) => drift('DeviceMissing', `The disk ${path} is not attached.`, reattachRepair(vm)));
}

/** Drift of data disks, and of pools that hold only data disks. On a pool that does not work, no disk is reported. */
export function dataStorageDrift(snapshot: TrueNasMachineSnapshot, facts: Facts): Drift[] {
  const disks = recordedDisks(facts);
  const further = new Set(
    disks.map(poolNameOf).filter((name) => name !== poolNameOf({ zvol: snapshot.system.identity.zvol })),
  );
  const broken = [...further].flatMap((name) => dataPoolDrift(snapshot, name));
  const seen = disks.filter((disk) => isNamedPoolWorking(snapshot, poolNameOf(disk)));
  return [...broken, ...seen.flatMap((disk) => diskDrift(snapshot, disk, facts))];
}

const poolNameOf = ({ zvol }: Pick<DataDisk, 'zvol'>): string => zvol.slice(0, zvol.indexOf('/'));

const isNamedPoolWorking = ({ pools }: TrueNasMachineSnapshot, name: string): boolean =>
  pools.some((pool) => pool.name === name && isPoolWorking(pool));

function dataPoolDrift(snapshot: TrueNasMachineSnapshot, name: string): Drift[] {
  if (isNamedPoolWorking(snapshot, name)) return [];
  const pool = snapshot.pools.find((one) => one.name === name);
  const { host } = snapshot.system.nas;
  return [
    pool
      ? drift('PoolFaulted', `The pool ${name}, which has a disk of the machine, is ${pool.status}. Repair it.`)
      : drift('PoolGone', `The pool ${name} with a disk of the machine no longer exists on ${host}. Import it.`),
  ];
}

function diskDrift({ datasets, system }: TrueNasMachineSnapshot, { zvol, folder }: DataDisk, facts: Facts): Drift[] {
  const disk = datasets.get(zvol);
  // The loss of the machine's own dataset is reported elsewhere.
  if (!disk && folder === system.identity.dataset && !datasets.has(folder)) return [];
  if (!disk) return [diskGoneDrift(zvol)];
  if (!isOwnDataset(disk, system.owner)) return [notOwnedDrift(zvol)];
  return disk.locked ? [lockedDrift(disk, system, facts)] : [];
}
