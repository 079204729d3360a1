import { done, fail, type Step } from '../../../engine/platform.ts';
import { ensureFolder } from '../encryption.ts';
import { type Context, ensureDataset, findDataset, sizeOf, systemOf } from '../system.ts';
import { waitForRoomAgain } from './reserve-room.ts';

/** Before: names are written down. After: the machine's own dataset exists with our mark, encrypted if its size says so. Done when it is found. */
export const datasetCreated: Step<Context> = {
  name: 'dataset-created',
  async run(context) {
    const system = systemOf(context);
    return await ensureFolder(context, system, system.identity.dataset);
  },
};

/**
 * Before: the dataset exists. After: the boot disk exists, empty, with our mark and its room reserved. Done when it is found.
 * It never empties a disk. One that a joined member has lost is not replaced: that is for the cluster to decide.
 */
export const diskCreated: Step<Context> = {
  name: 'disk-created',
  async run(context) {
    const system = systemOf(context);
    const { zvol } = system.identity;
    if (context.facts['joined'] === true && !(await findDataset(system, zvol))) {
      return fail('DiskLost', `The disk ${zvol} of this member is gone. Delete the Machine to have it made anew.`);
    }
    const short = await waitForRoomAgain(context);
    if (short) return short;
    const volsize = sizeOf(context).diskGiB * 2 ** 30;
    await ensureDataset(system, zvol, { type: 'VOLUME', volsize });
    return done();
  },
};
