import type { Clock } from '../../../lib/clock.ts';
import { waitOrAbort } from '../../../lib/deadline.ts';
import { Batcher, type BatcherOptions } from '../../../lib/resilience/batcher.ts';
import { type KnowledgeClock, maxAgeWithEventsSeconds } from './knowledge-clock.ts';
import { isNewer, type ReadStamp } from './read-stamp.ts';

/** How long a read waits for others to share its call. */
const batchWindowMs = 25;
/** Reads that arrive during a call start a second one. Waiting would synchronise machines that run in parallel. */
const maxConcurrentBatches = 2;
/** A slow call delays later reads for no longer than this. */
const slowBatchSeconds = 2;

/** Reads of one system that are asked for at the same time share a call. */
export const batchOptions = (clock: Clock): BatcherOptions => ({
  concurrency: maxConcurrentBatches,
  linger: () => clock.sleep(batchWindowMs),
  maxWait: (signal) => clock.sleep(slowBatchSeconds * 1000, signal),
});

export interface SharedReadOptions<T> {
  readonly clock: Clock;
  /** Aborts when no reader is left. */
  readonly over: AbortSignal;
  readonly versions: KnowledgeClock;
  /** Reads the answer. It has its own deadline. */
  readonly ask: (stamp: ReadStamp) => Promise<T>;
  /** Adds to an answer what is known since its call began. */
  readonly merge?: (value: T, stamp: ReadStamp, known: T | undefined) => T;
  /** The answer is dropped after this time, since large answers use memory. Default: when nobody accepts it. */
  readonly keepSeconds?: number;
}

/** One question with many readers: they share the call, and its answer as long as it suffices. */
export class SharedRead<T> {
  readonly #options: SharedReadOptions<T>;
  readonly #batch: Batcher<'all', T>;
  #known: { readonly stamp: ReadStamp; readonly value: T } | undefined;
  #running: { readonly stamp: ReadStamp; readonly answer: Promise<T> } | undefined;

  constructor(options: SharedReadOptions<T>) {
    this.#options = options;
    this.#batch = new Batcher(async () => new Map([['all', await this.#ask()]]), batchOptions(options.clock));
  }

  /** The last answer, whether it suffices or not. */
  get known(): { readonly stamp: ReadStamp; readonly value: T } | undefined {
    return this.#known;
  }

  /** The known answer or that of a running call, if it suffices; else a new one, which is always accepted. */
  async get(suffices: (stamp: ReadStamp) => boolean, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#known && suffices(this.#known.stamp)) return this.#known.value;
    if (this.#running && suffices(this.#running.stamp)) return await waitOrAbort(this.#running.answer, signal);
    return (await this.#batch.request('all', signal)) as T;
  }

  /** Takes over what was read elsewhere, unless something newer is known. */
  accept(answer: T, stamp: ReadStamp): T {
    const { merge, versions, keepSeconds = maxAgeWithEventsSeconds } = this.#options;
    const value = merge ? merge(answer, stamp, this.#known?.value) : answer;
    if (this.#known && isNewer(this.#known.stamp, stamp)) return value;
    this.#known = { value, stamp };
    this.#dropLater(stamp, stamp.at + keepSeconds * 1000 - versions.now);
    return value;
  }

  /** Holds the stamp only: a timer must not keep a replaced answer alive. */
  #dropLater(stamp: ReadStamp, ms: number): void {
    const { clock, over, versions } = this.#options;
    const due = versions.now + ms;
    const drop = (): void => {
      if (this.#known?.stamp !== stamp) return;
      if (versions.now < due && !over.aborted) this.#dropLater(stamp, due - versions.now);
      else this.#known = undefined;
    };
    clock.sleep(ms, over).then(drop, drop);
  }

  #ask(): Promise<T> {
    const stamp = this.#options.versions.stamp();
    const answer = this.#options.ask(stamp).then((value) => this.accept(value, stamp));
    const running = { stamp, answer };
    this.#running = running;
    const end = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    answer.then(end, end);
    return answer;
  }
}
