import type { Clock } from '../clock.ts';
import { waitOrAbort } from '../deadline.ts';
import { LruMap } from '../lru-map.ts';

interface CacheEntry {
  readonly at: number;
  readonly answer: Promise<unknown>;
  /** What was changed in it since, by number. */
  readonly amended: ReadonlySet<number>;
}

/** How old an answer may be, and of what it has to tell as it was asked for. */
export interface Freshness {
  readonly maxAgeSeconds: number;
  readonly unamended?: number | undefined;
}

/** Where answers are large and nobody makes do with old ones. */
interface Retention {
  readonly seconds: number;
  /** Ends when nobody asks any more. */
  readonly over: AbortSignal;
}

/** More questions than the largest account has things to ask about; what is forgotten is asked again. */
const maxEntries = 5000;

/** Answers that several may use for a while, so that many who ask for the same cost one call. Failures are not kept. */
export class ResponseCache {
  readonly #clock: Clock;
  readonly #keeping: Retention | undefined;
  readonly #known = new LruMap<string, CacheEntry>(maxEntries);

  /** Without `keeping` answers are kept until they are replaced or forgotten. */
  constructor(clock: Clock, keeping?: Retention) {
    this.#clock = clock;
    this.#keeping = keeping;
  }

  /**
   * The answer to `question`, asked for at most `maxAgeSeconds` ago, or now; also now when what it says of `unamended` is our own
   * word. `ask` must bring a deadline of its own: others may wait for it when this caller has gone.
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
   * What was answered, or is being answered, about `number` has changed since, and it is known how. It does not become younger
   * by that.
   */
  amend<T>(question: string, number: number, change: (answer: T) => T): void {
    const known = this.#known.get(question);
    if (!known) return;
    const answer = (known.answer as Promise<T>).then(change);
    this.#keep(question, { at: known.at, answer, amended: new Set([...known.amended, number]) });
  }

  /** What was answered to it, or to all that was asked, may have changed. */
  forget(question?: string): void {
    if (question === undefined) this.#known.clear();
    else this.#known.delete(question);
  }

  #keep(question: string, asked: CacheEntry): void {
    this.#known.set(question, asked);
    // A timer must not hold what was replaced or forgotten meanwhile.
    const kept = new WeakRef(asked);
    const drop = (): void => {
      if (this.#known.get(question) === kept.deref()) this.#known.delete(question);
    };
    asked.answer.catch(drop);
    if (this.#keeping) this.#clock.sleep(this.#keeping.seconds * 1000, this.#keeping.over).then(drop, drop);
  }
}
