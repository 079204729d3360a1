const everyMs = 20;
/** Typical delay of a timer on an idle machine. */
const usualMs = 2;

/**
 * Starts to measure how long this process was due to run without CPU time. A bound in real seconds is extended by the
 * result. Returns a function that stops the measurement and returns the seconds.
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
