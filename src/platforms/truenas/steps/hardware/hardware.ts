import type { HardwareCapability } from '../../../../engine/capabilities/hardware.ts';
import type { Step } from '../../../../engine/step.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { compareHardware, describeDesiredHardware } from '../../resources/hardware/compare-hardware.ts';
import type { TrueNasStepContext } from '../../resources/machine-scope.ts';
import { cancelReservationsWhenStuck } from '../provision/reserve-resources.ts';
import { assertOwned } from '../shared/assert-owned.ts';
import { hardwareAdmitted, hardwareChanged, offForHardwareChange, startedWithHardware } from './change-hardware.ts';

const closed = (step: Step<TrueNasStepContext>): Step<TrueNasStepContext> =>
  cancelReservationsWhenStuck(assertOwned({ deadlineMinutes: 10, ...step }));

/** Other processors, memory and network cards for a machine that is off. */
export const hardware: HardwareCapability<TrueNasConfig> = {
  describe: describeDesiredHardware,
  compare: (context) => compareHardware(context),
  admission: [hardwareAdmitted].map(closed),
  steps: [offForHardwareChange, hardwareChanged, startedWithHardware].map(closed),
};
