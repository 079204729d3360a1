const firstSeconds = 2;
const maxSeconds = 300;

/**
 * Seconds until the next try after `failures` errors in a row: doubles from 2 s to 5 min, with a jitter of a fifth so
 * that simultaneous failures do not retry simultaneously. Computed from a saved count, so a restart does not reset it.
 */
export function stepBackoffSeconds(failures: number, random: () => number = Math.random): number {
  const full = Math.min(maxSeconds, firstSeconds * 2 ** Math.min(Math.max(failures, 1) - 1, 16));
  return full * (0.8 + 0.4 * random());
}
