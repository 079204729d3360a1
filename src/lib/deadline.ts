import { setMaxListeners } from 'node:events';

/**
 * A signal that ends with `parent`, or after `seconds`, whichever comes first. Every call to the outside world runs
 * under one. The reason of an expired deadline is a `TimeoutError` (DOMException).
 *
 * Made by hand, because on Node 20 what `AbortSignal.any` makes is never collected once something listens to it: some
 * 2 kB for each call, for ever (nodejs/node#54614). Here the parent lets go when the time is up.
 */
export function deadline(seconds: number, parent?: AbortSignal): AbortSignal {
  const own = new AbortController();
  if (parent?.aborted) {
    own.abort(parent.reason);
    return own.signal;
  }
  const end = (reason: unknown) => {
    clearTimeout(timer);
    parent?.removeEventListener('abort', onParent);
    own.abort(reason);
  };
  const onParent = () => end(parent?.reason);
  const timer = setTimeout(
    () => end(new DOMException(`no answer within ${seconds} s`, 'TimeoutError')),
    Math.ceil(seconds * 1000),
  );
  timer.unref();
  if (parent) {
    setMaxListeners(0, parent);
    parent.addEventListener('abort', onParent, { once: true });
  }
  return own.signal;
}

/** True for the reason an expired deadline leaves behind. */
export function isDeadline(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Waits for shared work for as long as the signal allows; the work itself goes on. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
