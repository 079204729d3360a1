const everyMs = 20;
/** What a timer is late by on a machine that has nothing else to do. */
const usualMs = 2;

/**
 * Begins to measure for how long this process could not go on although it was due, since the machine had other things to do: a bound
 * in real seconds has to give so much more. Returns how to end it, which tells the seconds.
 */
export function startSchedulingDelay(): () => number {
  let lateMs = 0;
  let due = performance.now() + everyMs;
  const look = (): void => {
    const now = performance.now();
    if (now - due > usualMs) lateMs += now - due;
    due = now + everyMs;
  };
  const timer = setInterval(look, everyMs);
  return () => {
    clearInterval(timer);
    look();
    return lateMs / 1000;
  };
}
