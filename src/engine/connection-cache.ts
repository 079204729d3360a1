import { type CallObserver, noopCallObserver } from '../lib/observers.ts';
import type { Closable, ConnectionCache } from './connection.ts';

/** The connections of one process: opened on first use, closed together. */
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
    // The key includes the kind of connection, so the cached value has the type that `open` returns.
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
