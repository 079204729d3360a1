/**
 * A signal that ends with `parent`, or after `seconds`, whichever comes first. Every call to the outside world runs
 * under one. The reason of an expired deadline is a `TimeoutError` (DOMException).
 */
export function deadline(seconds: number, parent?: AbortSignal): AbortSignal {
  const own = AbortSignal.timeout(Math.ceil(seconds * 1000));
  return parent ? AbortSignal.any([parent, own]) : own;
}

/** True for the reason an expired deadline leaves behind. */
export function isDeadline(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
