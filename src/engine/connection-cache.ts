import { type CallObserver, noopCallObserver } from '../lib/observers.ts';
import type { Closable, ConnectionCache } from './platform.ts';

/** The connections of one process: made when first asked for, closed together. */
export class ProcessConnectionCache implements ConnectionCache {
  readonly signal: AbortSignal;
  readonly observer: CallObserver;
  #open = new Map<string, Closable>();

  constructor(signal: AbortSignal = new AbortController().signal, observer: CallObserver = noopCallObserver) {
    this.signal = signal;
    this.observer = observer;
  }

  get<T extends Closable>(key: string, open: () => T): T {
    const known = this.#open.get(key);
    // The key names the kind of connection too, so what lies under it is what `open` would make.
    if (known) return known as T;
    const made = open();
    this.#open.set(key, made);
    return made;
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map(async (connection) => connection.close()));
  }
}
