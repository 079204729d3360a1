import type { Facts } from '../../../../engine/step.ts';

/** RFC 3339; recorded before a machine is switched off for other hardware. Empty once it was started again. */
export const offForHardware = 'hardwareOff';

/** It is off, or is about to be, and the update that changes its hardware starts it again. */
export const isOffForHardware = (facts: Facts): boolean => (facts[offForHardware] ?? '') !== '';
