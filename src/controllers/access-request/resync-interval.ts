import type { Clock } from '../../lib/clock.ts';

/** Resync interval: objects in the target cluster that were changed manually are restored. */
export const accessResyncSeconds = 600;
const alignmentSeconds = 60;

/**
 * Seconds until the next resync, at a full minute of the process uptime, so that many requests share one set of lists.
 */
export const secondsUntilResync = (clock: Clock): number =>
  accessResyncSeconds - ((clock.monotonic() / 1000) % alignmentSeconds);
