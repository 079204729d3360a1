import type { Clock } from './clock.ts';
import { createLinkedController } from './deadline.ts';

/** What is waited for, and when something of it has arrived. */
export interface SilenceWatch {
  /** Ends with the parent, or with the limit. */
  readonly signal: AbortSignal;
  /** Something has arrived, and is being worked on. Until that is done, nothing can arrive. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

interface SilenceLimit {
  /** A silence of this length is noticed, at the latest after the same time again. */
  readonly seconds: number;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  /** The reason of the signal then. */
  readonly silent: () => Error;
}

/**
 * Runs work that reads a stream, and aborts it when nothing arrives for a while: a stream may be long as long as it goes on.
 * The time that we need for what has arrived does not count.
 */
export async function withSilenceLimit<T>(
  { seconds, clock, signal, silent }: SilenceLimit,
  work: (watch: SilenceWatch) => Promise<T>,
): Promise<T> {
  const controller = createLinkedController(signal);
  let hasArrived = false;
  let working = 0;
  const look = async (): Promise<void> => {
    for (;;) {
      hasArrived = working > 0;
      await clock.sleep(seconds * 1000, controller.signal);
      if (!hasArrived && working === 0) return controller.abort(silent());
    }
  };
  const during = async <R>(task: () => Promise<R>): Promise<R> => {
    working += 1;
    try {
      return await task();
    } finally {
      working -= 1;
      hasArrived = true;
    }
  };
  const ended = look().catch(() => {});
  try {
    return await work({ signal: controller.signal, during });
  } finally {
    controller.abort();
    await ended;
  }
}
