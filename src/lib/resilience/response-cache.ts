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

/** More questions than the largest account has resources; an evicted question is asked again. */
const maxEntries = 5000;

/**
 * A cache of answers, so that many callers with the same question cost one call. Answers are cached until they are
 * replaced or forgotten, failures are not.
 */
export class ResponseCache {
  readonly #clock: Clock;
  readonly #known = new LruMap<string, CacheEntry>(maxEntries);

  constructor(clock: Clock) {
    this.#clock = clock;
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

  #store(request: string, entry: CacheEntry): void {
    this.#known.set(request, entry);
    entry.answer.catch(() => {
      if (this.#known.get(request) === entry) this.#known.delete(request);
    });
  }
}
