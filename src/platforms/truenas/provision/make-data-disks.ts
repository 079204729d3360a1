import { done, fail, type Step } from '../../../engine/platform.ts';
import { roomOf } from '../choose-pool.ts';
import { dataDisksOf, foldersElsewhere } from '../data-disks.ts';
import { ensureFolder } from '../encryption.ts';
import { type Context, ensureDataset, findDataset, systemOf } from '../system.ts';
import { waitForRoomAgain } from './reserve-room.ts';

/**
 * Before: the machine's dataset exists, and which disks it has is written down. After: each exists, empty, with our mark and its
 * room reserved; on another pool below a dataset of its own. Done when all are found. It never empties a disk, and replaces
 * none that a joined member has lost.
 */
export const dataDisksCreated: Step<Context> = {
  name: 'data-disks-created',
  async run(context) {
    const system = systemOf(context);
    const disks = dataDisksOf(context);
    for (const { zvol } of context.facts['joined'] === true ? disks : []) {
      if (await findDataset(system, zvol)) continue;
      return fail('DiskLost', `The disk ${zvol} of this member is gone. Delete the Machine to have it made anew.`);
    }
    const short = await waitForRoomAgain(context);
    if (short) return short;
    for (const folder of foldersElsewhere(disks, system.identity.dataset)) {
      const outcome = await ensureFolder(context, system, folder);
      if (outcome.kind !== 'done') return outcome;
    }
    for (const { zvol, sizeGiB } of disks) {
      await ensureDataset(system, zvol, { type: 'VOLUME', volsize: sizeGiB * 2 ** 30 });
    }
    // From now on the system itself reckons with them.
    roomOf(context).settle(system.identity.uuid);
    return done();
  },
};
