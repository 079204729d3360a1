import type { Step } from '../../engine/platform.ts';
import { handingOver, takingOver } from './handover.ts';
import { devicesAttached, devicesVerified } from './provision/attach-devices.ts';
import { imageCached } from './provision/cache-image.ts';
import { addressClaimed } from './provision/claim-address.ts';
import { goBackWhenGone } from './provision/go-back.ts';
import { dataDisksCreated } from './provision/make-data-disks.ts';
import { vmCreated } from './provision/make-machine.ts';
import { datasetCreated, diskCreated } from './provision/make-storage.ts';
import { poweredOn } from './provision/power-on.ts';
import { letGoWhenStuck, resourcesReserved } from './provision/reserve-resources.ts';
import { sayWhenForeign } from './provision/say-when-foreign.ts';
import { seedWritten } from './provision/write-seed.ts';
import type { Context } from './system.ts';
import { unlockWhenLocked } from './unlock.ts';

const needed = [diskCreated, dataDisksCreated, seedWritten, vmCreated, devicesAttached, devicesVerified];

/** From nothing to a machine that boots Talos with its configuration. What is looked into after a failure is asked anew. */
export const provision: readonly Step<Context>[] = [
  ...[addressClaimed, imageCached, resourcesReserved, datasetCreated].map(handingOver),
  ...[...needed.map(handingOver), takingOver(poweredOn)].map(goBackWhenGone),
].map((step) => letGoWhenStuck(sayWhenForeign(unlockWhenLocked({ deadlineMinutes: 10, ...step }))));
