import { done, fail, type Step } from '../../../../engine/step.ts';
import { waitForDiskSpaceAgain } from '../../capacity/reserve-disk-space.ts';
import { ensureRootDataset } from '../../resources/dataset/encryption.ts';
import {
  ensureDataset,
  findDataset,
  getVmSize,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';

/**
 * Before: names are recorded. After: the machine's own dataset exists with our mark, encrypted if its size says so.
 * Done when it is found.
 */
export const datasetCreated: Step<TrueNasStepContext> = {
  name: 'dataset-created',
  async run(context) {
    const system = machineScopeOf(context);
    return await ensureRootDataset(context, system, system.identity.dataset);
  },
};

/**
 * Before: the dataset exists. After: the boot disk exists, empty, with our mark and its space reserved. Done when it is
 * found. It never erases a disk. A disk that a joined member has lost is not replaced: the cluster decides on that.
 */
export const diskCreated: Step<TrueNasStepContext> = {
  name: 'disk-created',
  async run(context) {
    const system = machineScopeOf(context);
    const { zvol } = system.identity;
    if (context.facts['joined'] === true && !(await findDataset(system, zvol))) {
      return fail(
        'DiskLost',
        `The disk ${zvol} of this node, which has joined its cluster, no longer exists. Delete the Machine to recreate it.`,
      );
    }
    const short = await waitForDiskSpaceAgain(context);
    if (short) return short;
    const volsize = getVmSize(context).diskGiB * 2 ** 30;
    await ensureDataset(system, zvol, { type: 'VOLUME', volsize });
    return done();
  },
};
