import { setMaxListeners } from 'node:events';
import type { Clock } from './clock.ts';

/**
 * A signal that ends with `parent`, or after `seconds`, whichever comes first. Every call to an external system runs
 * under one. The reason of an expired deadline is a `TimeoutError` (DOMException).
 *
 * Implemented without `AbortSignal.any`: on Node 20 its signals are never collected once they have a listener, which
 * leaks some 2 kB per call (nodejs/node#54614). Here the listener on the parent is removed at the timeout.
 */
export function deadlineSignal(seconds: number, parent?: AbortSignal): AbortSignal {
  return startDeadline(seconds, parent).signal;
}

/**
 * Runs the work under a deadline that is released when the work ends: a thousand calls a second leave no thousand
 * timers behind.
 */
export async function withDeadline<T>(
  seconds: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, release } = startDeadline(seconds, parent);
  try {
    return await work(signal);
  } finally {
    release();
  }
}

interface Deadline {
  readonly signal: AbortSignal;
  /** Removes the timer and the listener on the parent. */
  release(): void;
}

function startDeadline(seconds: number, parent?: AbortSignal): Deadline {
  const own = new AbortController();
  inheritExpiryCheck(own.signal, parent);
  if (parent?.aborted) {
    own.abort(parent.reason);
    return { signal: own.signal, release: () => {} };
  }
  const release = () => {
    clearTimeout(timer);
    parent?.removeEventListener('abort', onParent);
  };
  const end = (reason: unknown) => {
    release();
    own.abort(reason);
  };
  const onParent = () => end(parent?.reason);
  const timer = setTimeout(
    () => end(new DOMException(`no response within ${seconds} s`, 'TimeoutError')),
    Math.ceil(seconds * 1000),
  );
  timer.unref();
  if (parent) {
    setMaxListeners(0, parent);
    parent.addEventListener('abort', onParent, { once: true });
  }
  return { signal: own.signal, release };
}

/** The expiry checks by signal, called before something starts under it. */
const expiryChecks = new WeakMap<AbortSignal, () => void>();

/**
 * Calls `look` right before anything starts under the signal, or under a signal derived from it here; `look` may abort
 * the signal. For deadlines that depend on time. Timers alone fire too late after a process was stopped (SIGSTOP, a
 * paused machine): data that arrived meanwhile is processed before them.
 */
export function addExpiryCheck(signal: AbortSignal, check: () => void): void {
  expiryChecks.set(signal, check);
}

/**
 * Runs the expiry check of the signal, and throws the reason of an aborted signal. Call it right before something is
 * sent.
 */
export function assertActive(signal: AbortSignal | undefined): void {
  if (!signal) return;
  expiryChecks.get(signal)?.();
  signal.throwIfAborted();
}

/**
 * A controller whose signal also ends with `parent`. For objects that live as long as the parent, not for every call.
 */
export function createLinkedController(parent: AbortSignal): AbortController {
  const own = new AbortController();
  inheritExpiryCheck(own.signal, parent);
  const end = () => own.abort(parent.reason);
  if (parent.aborted) end();
  else parent.addEventListener('abort', end, { once: true });
  return own;
}

function inheritExpiryCheck(signal: AbortSignal, parent: AbortSignal | undefined): void {
  const check = parent && expiryChecks.get(parent);
  if (!check) return;
  check();
  expiryChecks.set(signal, check);
}

/** Whether the reason is that of an expired deadline. */
export function isDeadlineError(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Waits for shared work for as long as the signal allows; the work itself continues after an abort. */
export async function waitOrAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // After an abort a rejection has no other handler, and an unhandled one ends the process.
  work.catch(() => {});
  signal.throwIfAborted();
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

/** Resolves when the signal aborts. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/**
 * Waits for work that goes on afterwards, for these seconds at most and until the signal aborts. Returns whether it has
 * ended. Throws its error.
 */
export async function waitAtMost(
  seconds: number,
  work: Promise<unknown>,
  {
    clock,
    signal = new AbortController().signal,
  }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal?: AbortSignal },
): Promise<boolean> {
  const timer = createLinkedController(signal);
  const isLate = (): boolean => false;
  try {
    return await Promise.race([work.then(() => true), clock.sleep(seconds * 1000, timer.signal).then(isLate, isLate)]);
  } finally {
    timer.abort();
  }
}
