import type { Clock } from '../clock.ts';
import { waitOrAbort } from '../deadline.ts';
import { LruMap } from '../lru-map.ts';

interface CacheEntry {
  readonly at: number;
  readonly answer: Promise<unknown>;
  /** The numbers whose part of the answer has been amended since. */
  readonly updated: ReadonlySet<number>;
}

/** The maximum age of an answer, and the part of it that must be as it was received. */
export interface Freshness {
  readonly maxAgeSeconds: number;
  readonly withoutUpdates?: number | undefined;
}

/** For large answers that are only accepted while they are fresh. */
interface Retention {
  readonly seconds: number;
  /** Aborts when no caller is left. */
  readonly over: AbortSignal;
}

/** More questions than the largest account has resources; an evicted question is asked again. */
const maxEntries = 5000;

/** A cache of answers, so that many callers with the same question cost one call. Failures are not cached. */
export class ResponseCache {
  readonly #clock: Clock;
  readonly #stored: Retention | undefined;
  readonly #known = new LruMap<string, CacheEntry>(maxEntries);

  /** Without `keeping`, answers are cached until they are replaced or forgotten. */
  constructor(clock: Clock, keeping?: Retention) {
    this.#clock = clock;
    this.#stored = keeping;
  }

  /**
   * The answer to `question`, asked at most `maxAgeSeconds` ago, or now; also now when its part on `withoutUpdates` was
   * amended locally. `ask` must set its own deadline: others may wait for it after this caller has aborted.
   */
  async get<T>(request: string, freshness: Freshness, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { maxAgeSeconds, withoutUpdates } = freshness;
    signal.throwIfAborted();
    const now = this.#clock.monotonic();
    const known = this.#known.get(request);
    const isOurWord = withoutUpdates !== undefined && known?.updated.has(withoutUpdates);
    if (known && !isOurWord && now - known.at < maxAgeSeconds * 1000)
      return await waitOrAbort(known.answer as Promise<T>, signal);
    const answer = ask();
    this.#store(request, { at: now, answer, updated: new Set() });
    return await waitOrAbort(answer, signal);
  }

  /**
   * Applies a known change to the answer about `number`, received or pending. The answer does not become fresher by
   * that.
   */
  update<T>(request: string, number: number, change: (answer: T) => T): void {
    const known = this.#known.get(request);
    if (!known) return;
    const answer = (known.answer as Promise<T>).then(change);
    this.#store(request, { at: known.at, answer, updated: new Set([...known.updated, number]) });
  }

  /** Invalidates the answer to one question, or all answers, because it may have changed. */
  forget(request?: string): void {
    if (request === undefined) this.#known.clear();
    else this.#known.delete(request);
  }

  #store(request: string, asked: CacheEntry): void {
    this.#known.set(request, asked);
    // A timer must not keep a replaced or forgotten answer alive.
    const kept = new WeakRef(asked);
    const drop = (): void => {
      if (this.#known.get(request) === kept.deref()) this.#known.delete(request);
    };
    asked.answer.catch(drop);
    if (this.#stored) this.#clock.sleep(this.#stored.seconds * 1000, this.#stored.over).then(drop, drop);
  }
}
