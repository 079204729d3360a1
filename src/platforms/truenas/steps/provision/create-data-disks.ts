import { done, fail, type Step } from '../../../../engine/step.ts';
import { diskSpaceReservationsOf } from '../../capacity/choose-pool.ts';
import { waitForDiskSpaceAgain } from '../../capacity/reserve-disk-space.ts';
import { ensureRootDataset } from '../../resources/dataset/encryption.ts';
import { dataDisksOf, filesystemsOnOtherPools } from '../../resources/disk/data-disks.ts';
import { ensureDataset, findDataset, machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';

/**
 * Before: the machine's dataset exists, and its disks are recorded. After: each disk exists, empty, with our mark and
 * its space reserved; on another pool below a dataset of its own. Done when all are found. It never erases a disk, and
 * does not replace one that a joined member has lost.
 */
export const dataDisksCreated: Step<TrueNasStepContext> = {
  name: 'data-disks-created',
  async run(context) {
    const system = machineScopeOf(context);
    const disks = dataDisksOf(context);
    for (const { zvol } of context.facts['joined'] === true ? disks : []) {
      if (await findDataset(system, zvol)) continue;
      return fail(
        'DiskLost',
        `The disk ${zvol} of this node, which has joined its cluster, no longer exists. Delete the Machine to recreate it.`,
      );
    }
    const short = await waitForDiskSpaceAgain(context);
    if (short) return short;
    for (const folder of filesystemsOnOtherPools(disks, system.identity.dataset)) {
      const outcome = await ensureRootDataset(context, system, folder);
      if (outcome.kind !== 'done') return outcome;
    }
    for (const { zvol, sizeGiB } of disks) {
      await ensureDataset(system, zvol, { type: 'VOLUME', volsize: sizeGiB * 2 ** 30 });
    }
    // From now on the system itself counts their space.
    diskSpaceReservationsOf(context).commit(system.identity.uuid);
    return done();
  },
};
