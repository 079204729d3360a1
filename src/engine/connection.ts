import type { CallObserver } from '../lib/observers.ts';

/** A resource that stays open between steps: a socket, a pool, a cache. */
export interface Closable {
  close(): void | Promise<void>;
}

/** One open connection per key, shared by all steps of the process and closed with it. */
export interface ConnectionCache {
  /** Aborts when all connections have to end. Background work uses this signal. */
  readonly signal: AbortSignal;
  /** Observes every call to an external system. */
  readonly observer: CallObserver;
  get<T extends Closable>(key: string, open: () => T): T;
}
