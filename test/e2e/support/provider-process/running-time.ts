/** Between two looks of the process at itself. */
const tickMs = 10;
/** A look that comes later than this comes after a pause: other processes had the processor. */
const pauseMs = 50;

let last = performance.now();
let pausedMs = 0;
setInterval(look, tickMs).unref();

function look(): number {
  const now = performance.now();
  if (now - last > pauseMs) pausedMs += now - last - tickMs;
  last = now;
  return now;
}

/**
 * The time that this process was running. With accelerated time a pause of a tenth of a second would last for seconds,
 * and its deadlines would pass before the answers that are there already were read.
 */
export const runningMilliseconds = (): number => look() - pausedMs;
