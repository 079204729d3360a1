import { z } from 'zod';
import { done, fail, returnToStep, type Step, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { Vm } from '../../api/schema.ts';
import { diskSpaceReservationsOf } from '../../capacity/choose-pool.ts';
import { systemEndpointOf } from '../../config/config.ts';
import { hasCode } from '../../errors.ts';
import { failUnlessAbsenceProven, isAbsenceApproved } from '../../resources/dataset/absence-proof.ts';
import { destroyOwnDatasets } from '../../resources/dataset/destroy-datasets.ts';
import { rootDatasetsOf } from '../../resources/dataset/encryption.ts';
import { machineStorageOf } from '../../resources/dataset/machine-storage.ts';
import {
  findDataset,
  findVm,
  isVmActive,
  type MachineScope,
  machineScopeOf,
  type TrueNasRemovalContext,
} from '../../resources/machine-scope.ts';
import { memoryTableOf } from '../provision/reserve-resources.ts';
import { readAgainAfterFailure } from '../shared/read-again-after-failure.ts';
import { checkPendingStop, stopOwnVm } from '../shared/stop-own-vm.ts';

/**
 * Before: anything. After: our VM does not run. Done when it is off, or does not exist on the system that it was
 * created on. A member of a cluster is shut down first; a machine that never joined is switched off, because Talos
 * ignores the power button before its installation.
 */
const poweredOff: Step<TrueNasRemovalContext> = {
  name: 'powered-off',
  async run(context) {
    const system = machineScopeOf(context);
    memoryTableOf(context).cancel(system.identity.uuid);
    if (isAbsenceApproved(context.facts)) return done();
    const pending = checkPendingStop(context, system, 'stopRequestedAt');
    if (pending) return pending;
    const { own: vm } = await findVm(system);
    if (!vm)
      return (
        (await failWhenSystemChanged(context, system)) ??
        (await failUnlessAbsenceProven(system, context.facts)) ??
        done()
      );
    if (!isVmActive(vm)) return done();
    return await stopOwnVm(context, system, vm, 'stopRequestedAt');
  },
};

/** Before: it does not run. After: our VM is deleted, its disk is not. Done when none is found. */
const vmDeleted: Step<TrueNasRemovalContext> = {
  name: 'vm-deleted',
  async run(context) {
    if (isAbsenceApproved(context.facts)) return done();
    const system = machineScopeOf(context);
    const { own: vm } = await findVm(system, {});
    if (!vm) return done();
    if (isVmActive(vm)) {
      // A reboot of the system has started it again.
      await system.nas.change('vm.poweroff', [vm.id], z.unknown(), { signal: context.signal, seconds: 60 });
      return wait(1, 'The machine was powered off again.');
    }
    await deleteVm(system, vm);
    return done();
  },
};

async function deleteVm({ nas, signal }: MachineScope, vm: Vm): Promise<void> {
  // `zvols` would destroy every disk of the VM, even one that a user attached. State ERROR needs `force`.
  const options = { zvols: false, force: vm.status.state === 'ERROR' };
  try {
    await nas.change('vm.delete', [vm.id, options], z.unknown(), { signal, seconds: 120 });
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_NOT_FOUND')) throw error;
  }
}

/**
 * Before: the VM is gone. After: so are its disks, its dataset with the seed, and its filesystems on other pools. Done
 * when none of them is found.
 */
const storageDeleted: Step<TrueNasRemovalContext> = {
  name: 'storage-deleted',
  formerNames: ['data-disks-deleted', 'disk-deleted', 'dataset-deleted'],
  async run(context) {
    const system = machineScopeOf(context);
    diskSpaceReservationsOf(context).commit(system.identity.uuid);
    if (isAbsenceApproved(context.facts)) return done();
    const stored = await machineStorageOf(system, context.facts);
    // An upload of a process that has ended. TrueNAS would create a folder for it in place of the dataset, which no
    // call can delete.
    const isLate = await system.nas.jobs.areWritten([`/mnt/${system.identity.dataset}`], context.signal);
    if (isLate) return wait(2, 'A file is still being written in the dataset of the machine.');
    return await destroyOwnDatasets(system, stored, () => goBackWhenSystemChanged(context, system));
  },
};

/**
 * An object is missing. On a system that replaced the former one, the walk restarts once the former one is named again.
 */
async function goBackWhenSystemChanged(
  context: TrueNasRemovalContext,
  system: MachineScope,
): Promise<StepOutcome | undefined> {
  const unproven =
    (await failWhenSystemChanged(context, system)) ?? (await failUnlessAbsenceProven(system, context.facts));
  return unproven?.kind === 'fail'
    ? returnToStep(poweredOff.name, 1, unproven.message, { stopRequestedAt: '' })
    : unproven;
}

/**
 * Before: the datasets that need the machine's key were destroyed. After: the key is deleted. Done when there is none.
 * While a dataset remains that may need it, e.g. one that lost our mark, the key is retained for its new owner.
 */
const diskKeyForgotten: Step<TrueNasRemovalContext> = {
  name: 'disk-key-forgotten',
  async run(context) {
    const { facts } = context;
    if (typeof facts['uuid'] === 'string' && facts['encrypted'] !== true) return done();
    if (isAbsenceApproved(facts)) {
      context.log.warn({}, 'there is no proof that the datasets of the machine are destroyed, so its key is kept');
      return done();
    }
    const system = machineScopeOf(context);
    for (const id of rootDatasetsOf(facts, system)) {
      if (!(await findDataset(system, id))) continue;
      context.log.warn({ dataset: id }, 'a dataset without our mark remains, so the key of the machine is kept');
      return done();
    }
    await context.diskKey.delete();
    return done();
  },
};

/** Before: the machine is gone. After: its address is released. */
const addressReleased: Step<TrueNasRemovalContext> = {
  name: 'address-released',
  async run(context) {
    await context.addresses.release();
    return done();
  },
};

/**
 * Nothing was found. When truenas.url names another system since the machine was created, and none of its objects is
 * there, this proves nothing: the machine is still on the former system.
 */
async function failWhenSystemChanged(
  context: TrueNasRemovalContext,
  system: MachineScope,
): Promise<StepOutcome | undefined> {
  const made = context.facts['system'];
  const { host } = systemEndpointOf(context.config);
  const { dataset } = system.identity;
  if (typeof made !== 'string' || made === host || (await findDataset(system, dataset))) return undefined;
  return fail(
    'SystemChanged',
    `This machine was created on ${made}, but truenas.url is ${host}. Restore the former until the machine is deleted.`,
  );
}

/** Removes a machine, from any state. */
export const release: readonly Step<TrueNasRemovalContext>[] = [
  ...[poweredOff, vmDeleted].map(readAgainAfterFailure),
  storageDeleted,
  diskKeyForgotten,
  addressReleased,
];
