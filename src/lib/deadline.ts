import { setMaxListeners } from 'node:events';

/**
 * A signal that ends with `parent`, or after `seconds`, whichever comes first. Every call to the outside world runs
 * under one. The reason of an expired deadline is a `TimeoutError` (DOMException).
 *
 * Made by hand, because on Node 20 what `AbortSignal.any` makes is never collected once something listens to it: some
 * 2 kB for each call, for ever (nodejs/node#54614). Here the parent lets go when the time is up.
 */
export function deadlineSignal(seconds: number, parent?: AbortSignal): AbortSignal {
  return startDeadline(seconds, parent).signal;
}

/** Does the work under a deadline that ends with it: of a thousand calls a second no thousand timers are left behind. */
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
  /** Nothing will end it any more. */
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
    () => end(new DOMException(`no answer within ${seconds} s`, 'TimeoutError')),
    Math.ceil(seconds * 1000),
  );
  timer.unref();
  if (parent) {
    setMaxListeners(0, parent);
    parent.addEventListener('abort', onParent, { once: true });
  }
  return { signal: own.signal, release };
}

/** What to look at before something is begun under a signal. */
const expiryChecks = new WeakMap<AbortSignal, () => void>();

/**
 * Has `look` called right before anything is begun under the signal, or under one made from it here: it may end the
 * signal. For ends that are a matter of time. Timers alone come too late after a process stood still (SIGSTOP, a paused
 * machine): what arrived meanwhile is worked on before them.
 */
export function addExpiryCheck(signal: AbortSignal, look: () => void): void {
  expiryChecks.set(signal, look);
}

/** Looks whether the signal has ended, and throws its reason. To be called in the moment before something is sent. */
export function assertActive(signal: AbortSignal | undefined): void {
  if (!signal) return;
  expiryChecks.get(signal)?.();
  signal.throwIfAborted();
}

/** A controller whose signal ends with `parent` too. For what lives as long as that, and not for every call. */
export function createLinkedController(parent: AbortSignal): AbortController {
  const own = new AbortController();
  inheritExpiryCheck(own.signal, parent);
  const end = () => own.abort(parent.reason);
  if (parent.aborted) end();
  else parent.addEventListener('abort', end, { once: true });
  return own;
}

function inheritExpiryCheck(signal: AbortSignal, parent: AbortSignal | undefined): void {
  const look = parent && expiryChecks.get(parent);
  if (!look) return;
  look();
  expiryChecks.set(signal, look);
}

/** True for the reason an expired deadline leaves behind. */
export function isDeadlineError(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Waits for shared work for as long as the signal allows; the work itself goes on. */
export async function waitOrAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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
