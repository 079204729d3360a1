const firstSeconds = 2;
const maxSeconds = 300;

/**
 * Seconds until the next try after `failures` errors in a row: doubling from 2 s to 5 min, spread by a fifth so that
 * what failed together does not return together. Computed from a saved count, so a restart does not forget it.
 */
export function stepBackoffSeconds(failures: number, random: () => number = Math.random): number {
  const full = Math.min(maxSeconds, firstSeconds * 2 ** Math.min(Math.max(failures, 1) - 1, 16));
  return full * (0.8 + 0.4 * random());
}
