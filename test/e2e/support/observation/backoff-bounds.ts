/** Bounds of a backoff: each wait is at least `least` of a time that starts with `first` and doubles up to `most`. */
export interface BackoffBounds {
  readonly first: number;
  readonly most: number;
  /** The smallest fraction of that time that jitter leaves. */
  readonly least: number;
}

/** The bounds that the provider guarantees, in seconds. */
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
export function maxAttempts(seconds: number, { first, most: max, least }: BackoffBounds): number {
  let attempts = 1;
  let passed = 0;
  for (let wait = first; ; wait = Math.min(max, wait * 2)) {
    passed += wait * least;
    if (passed > seconds) return attempts;
    attempts += 1;
  }
}

/** The longest wait that continues after an outage: each wait is twice the one before, and at most `most`. */
export function maxDelayAfterOutage(seconds: number, { first, most: max, least }: BackoffBounds): number {
  const doublings = maxAttempts(seconds, { first, most: max, least }) - 1;
  return Math.min(max, first * 2 ** doublings) * (least < 0.8 ? 1 : 2 - least);
}
