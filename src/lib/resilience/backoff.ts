/** How waiting grows with failures. */
export interface BackoffOptions {
  readonly baseSeconds: number;
  readonly capSeconds: number;
  /** From 0 up to 1; injected so that tests decide. */
  readonly random: () => number;
}

/**
 * Seconds to wait after so many failures in a row (1 or more): doubled each time up to the cap, and then somewhere
 * between half of that and all of it, so that many who failed together do not come back together.
 */
export function backoffSeconds(failures: number, { baseSeconds, capSeconds, random }: BackoffOptions): number {
  const full = Math.min(capSeconds, baseSeconds * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
  return full / 2 + (full / 2) * random();
}
