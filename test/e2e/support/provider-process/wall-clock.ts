import { AsyncLocalStorage } from 'node:async_hooks';

const clocks = new AsyncLocalStorage<WallClock>();

/**
 * The wall clock of the machine of one provider in this process: every date that `within` reads is shifted by this
 * offset. Durations and the certificates of TLS keep real time.
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

  /** Sets the clock ahead by so many hours from now on; negative hours set it behind. */
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
