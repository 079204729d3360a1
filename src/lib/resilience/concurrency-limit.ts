/** Runs work, limited to a maximum at a time; the rest waits in a queue, and leaves it when its signal aborts. */
export type ConcurrencyLimit = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A {@link ConcurrencyLimit} of `max`. First come, first served. */
export function createConcurrencyLimit(max: number): ConcurrencyLimit {
  let running = 0;
  const line: (() => void)[] = [];

  const enter = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (running < max) {
        running += 1;
        return resolve();
      }
      const leave = () => {
        line.splice(line.indexOf(turn), 1);
        reject(signal.reason);
      };
      const turn = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      line.push(turn);
    });

  // A freed slot goes to the next waiter, so `running` changes only when the queue is empty.
  const exit = () => {
    const next = line.shift();
    if (next) next();
    else running -= 1;
  };

  return async (work, signal) => {
    await enter(signal);
    try {
      return await work();
    } finally {
      exit();
    }
  };
}
