/** The clocks of two processes, one of which takes the place of the other, differ by less. */
const skewSeconds = 60;

/**
 * Whether a recorded time is in the future: the clock was set back since. A wait that counts from it would last as long as
 * the clock was ahead.
 */
export const isFutureTime = (recorded: string | Date, now: Date): boolean =>
  new Date(recorded).getTime() - now.getTime() >= skewSeconds * 1000;

/** The recorded time, or the present if that is in the future. */
export const correctTime = (recorded: Date, now: Date): Date => (isFutureTime(recorded, now) ? now : recorded);
