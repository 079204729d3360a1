/** How the delay grows with failures. */
export interface BackoffOptions {
  readonly baseSeconds: number;
  readonly capSeconds: number;
  /** From 0 up to 1; injected so that tests are deterministic. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/**
 * Seconds to wait after the given number of failures in a row (1 or more): doubled each time up to the cap, then a
 * random value between half of that and all of it, so that simultaneous failures do not retry simultaneously.
 */
export function backoffSeconds(
  failures: number,
  { baseSeconds, capSeconds, random = Math.random }: BackoffOptions,
): number {
  const full = Math.min(capSeconds, baseSeconds * 2 ** Math.min(Math.max(failures, 1) - 1, 30));
  return full / 2 + (full / 2) * random();
}
