/** Interval of the timer that notices when this process was not scheduled. */
const tickMs = 10;
/** A timer that is later than this was late because other processes had the processor. */
const pauseMs = 50;

let last = performance.now();
let pausedMs = 0;
setInterval(updatePauses, tickMs).unref();

function updatePauses(): number {
  const now = performance.now();
  if (now - last > pauseMs) pausedMs += now - last - tickMs;
  last = now;
  return now;
}

/**
 * Time since the start of the process, without the time in which it was not scheduled. With accelerated time a pause of a
 * tenth of a second would last for seconds, and deadlines would pass before responses that have arrived were read.
 */
export const runningMilliseconds = (): number => updatePauses() - pausedMs;
