import type { Step } from '../../../../engine/step.ts';
import { unlockWhenLocked } from '../../resources/dataset/unlock.ts';
import type { TrueNasStepContext } from '../../resources/machine-scope.ts';
import { assertOwned } from '../shared/assert-owned.ts';
import { goBackWhenMissing } from '../shared/go-back.ts';
import { readAgainAfterFailure } from '../shared/read-again-after-failure.ts';
import { devicesAttached, devicesVerified } from './attach-devices.ts';
import { imageCached } from './cache-image.ts';
import { addressClaimed } from './claim-address.ts';
import { dataDisksCreated } from './create-data-disks.ts';
import { datasetCreated, diskCreated } from './create-storage.ts';
import { vmCreated } from './create-vm.ts';
import { poweredOn } from './power-on.ts';
import { cancelReservationsWhenStuck, resourcesReserved } from './reserve-resources.ts';
import { seedWritten } from './write-seed.ts';

const stepsThatGoBack = [diskCreated, dataDisksCreated, seedWritten, vmCreated, devicesAttached, devicesVerified];

/** Creates a machine that boots Talos with its configuration. After a failure the state is read again. */
export const provision: readonly Step<TrueNasStepContext>[] = [
  ...[addressClaimed, imageCached, resourcesReserved, datasetCreated].map(readAgainAfterFailure),
  ...[...stepsThatGoBack, poweredOn].map(readAgainAfterFailure).map(goBackWhenMissing),
].map((step) => cancelReservationsWhenStuck(assertOwned(unlockWhenLocked({ deadlineMinutes: 10, ...step }))));
