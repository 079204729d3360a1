import { AsyncLocalStorage } from 'node:async_hooks';

const clocks = new AsyncLocalStorage<WallClock>();

/**
 * The wall clock of the machine that one process of the provider runs on, for one that runs in this process: every date
 * that comes out of `within` is off by so much. Durations and the certificates of TLS keep to the real time.
 */
export class WallClock {
  #offsetMs = 0;

  get offsetMs(): number {
    return this.#offsetMs;
  }

  within<T>(work: () => T): T {
    patchDate();
    return clocks.run(this, work);
  }

  /** From now on it is ahead by so many hours; behind by as many, if they are negative. */
  set(hours: number): void {
    this.#offsetMs = hours * 3_600_000;
  }
}

let isPatched = false;

function patchDate(): void {
  if (isPatched) return;
  isPatched = true;
  const now = (): number => RealDate.now() + (clocks.getStore()?.offsetMs ?? 0);
  const RealDate = globalThis.Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, words, asked) => Reflect.construct(target, words.length === 0 ? [now()] : words, asked),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  });
}
