import type { Clock } from '../clock.ts';
import { waitOrAbort } from '../deadline.ts';
import { LruMap } from '../lru-map.ts';

interface CacheEntry {
  readonly at: number;
  readonly answer: Promise<unknown>;
  /** The numbers whose part of the answer has been amended since. */
  readonly amended: ReadonlySet<number>;
}

/** The maximum age of an answer, and the part of it that must be as it was received. */
export interface Freshness {
  readonly maxAgeSeconds: number;
  readonly unamended?: number | undefined;
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
  readonly #keeping: Retention | undefined;
  readonly #known = new LruMap<string, CacheEntry>(maxEntries);

  /** Without `keeping`, answers are cached until they are replaced or forgotten. */
  constructor(clock: Clock, keeping?: Retention) {
    this.#clock = clock;
    this.#keeping = keeping;
  }

  /**
   * The answer to `question`, asked at most `maxAgeSeconds` ago, or now; also now when its part on `unamended` was
   * amended locally. `ask` must set its own deadline: others may wait for it after this caller has aborted.
   */
  async get<T>(question: string, freshness: Freshness, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { maxAgeSeconds, unamended } = freshness;
    signal.throwIfAborted();
    const now = this.#clock.monotonic();
    const known = this.#known.get(question);
    const isOurWord = unamended !== undefined && known?.amended.has(unamended);
    if (known && !isOurWord && now - known.at < maxAgeSeconds * 1000)
      return await waitOrAbort(known.answer as Promise<T>, signal);
    const answer = ask();
    this.#keep(question, { at: now, answer, amended: new Set() });
    return await waitOrAbort(answer, signal);
  }

  /**
   * Applies a known change to the answer about `number`, received or pending. The answer does not become fresher by
   * that.
   */
  amend<T>(question: string, number: number, change: (answer: T) => T): void {
    const known = this.#known.get(question);
    if (!known) return;
    const answer = (known.answer as Promise<T>).then(change);
    this.#keep(question, { at: known.at, answer, amended: new Set([...known.amended, number]) });
  }

  /** Invalidates the answer to one question, or all answers, because it may have changed. */
  forget(question?: string): void {
    if (question === undefined) this.#known.clear();
    else this.#known.delete(question);
  }

  #keep(question: string, asked: CacheEntry): void {
    this.#known.set(question, asked);
    // A timer must not keep a replaced or forgotten answer alive.
    const kept = new WeakRef(asked);
    const drop = (): void => {
      if (this.#known.get(question) === kept.deref()) this.#known.delete(question);
    };
    asked.answer.catch(drop);
    if (this.#keeping) this.#clock.sleep(this.#keeping.seconds * 1000, this.#keeping.over).then(drop, drop);
  }
}
