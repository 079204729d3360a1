/** How somebody waits between attempts: at least so much of a time that begins with `first` and doubles up to `most`. */
export interface BackoffBounds {
  readonly first: number;
  readonly most: number;
  /** The least part of that time which chance may leave. */
  readonly least: number;
}

/** The rules that the provider promises to keep, in seconds. */
export const backoffBounds = {
  /** A watch of the platform. */
  watch: { first: 0.5, most: 30, least: 0.5 },
  /** An object whose reconcile fails at an API server. */
  object: { first: 1, most: 300, least: 0.5 },
  /** A step of a Machine. */
  step: { first: 2, most: 300, least: 0.8 },
  /** The one connection to a NAS. */
  nas: { first: 1, most: 30, least: 0.5 },
} as const satisfies Record<string, BackoffBounds>;

/** The most attempts that fit into an outage. */
export function maxAttempts(seconds: number, { first, most, least }: BackoffBounds): number {
  let attempts = 1;
  let passed = 0;
  for (let wait = first; ; wait = Math.min(most, wait * 2)) {
    passed += wait * least;
    if (passed > seconds) return attempts;
    attempts += 1;
  }
}

/** The longest that somebody sleeps on after an outage: what comes next is twice of what went before, and no more than `most`. */
export function maxDelayAfterOutage(seconds: number, { first, most, least }: BackoffBounds): number {
  const doublings = maxAttempts(seconds, { first, most, least }) - 1;
  return Math.min(most, first * 2 ** doublings) * (least < 0.8 ? 1 : 2 - least);
}
