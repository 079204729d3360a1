import { waitOrAbort } from '../deadline.ts';

export interface BatcherOptions {
  /** Maximum number of questions in a batch; default 50. */
  readonly maxSize?: number;
  /** Maximum number of concurrent calls; default 1. */
  readonly concurrency?: number;
  /** Resolves when all simultaneous questions have been asked. Default: at once. */
  readonly linger?: () => Promise<void>;
  /** Resolves when a response is so slow that later questions no longer wait for it. Default: never. */
  readonly maxWait?: (signal: AbortSignal) => Promise<void>;
}

/**
 * Answers many questions with few calls: questions that are asked while the maximum number of calls is running form a
 * batch, which starts as soon as a call has ended. No answer is older than its question.
 */
export class Batcher<Question, Answer> {
  readonly #answer: BatchResolver<Question, Answer>;
  readonly #maxSize: number;
  readonly #waitForMore: BatcherOptions['linger'];
  readonly #maxWait: BatcherOptions['maxWait'];
  #waiting: PendingBatch<Question, Answer> | undefined;
  /** When the next calls may start, one entry for each concurrent call. */
  readonly #rounds: Promise<unknown>[];

  /**
   * `answer` sets its own deadline: a single caller cannot abort it, because others wait for it as well. Its signal
   * aborts when all of them have given up.
   */
  constructor(answer: BatchResolver<Question, Answer>, options: BatcherOptions = {}) {
    this.#answer = answer;
    this.#maxSize = options.maxSize ?? 50;
    this.#rounds = Array.from({ length: options.concurrency ?? 1 }, () => Promise.resolve());
    this.#waitForMore = options.linger;
    this.#maxWait = options.maxWait;
  }

  /**
   * The answer to one question; `undefined` when there is none. Throws the error of the call, or the signal's reason.
   */
  async request(request: Question, signal: AbortSignal): Promise<Answer | undefined> {
    signal.throwIfAborted();
    const round = this.#join(request);
    round.requesting += 1;
    try {
      const answers = await waitOrAbort(round.answers, signal);
      return answers.get(request);
    } catch (error) {
      // After a failure, parts of the call may still be running that report on the remote side.
      if (round.requesting === 1 && signal.aborted) round.over.abort(error);
      throw error;
    } finally {
      round.requesting -= 1;
    }
  }

  #join(request: Question): PendingBatch<Question, Answer> {
    const open = this.#waiting;
    if (open && open.questions.size < this.#maxSize && !open.over.signal.aborted) {
      open.questions.add(request);
      return open;
    }
    const requests = new Set([request]);
    const over = new AbortController();
    const turn = this.#rounds.shift() ?? Promise.resolve();
    const answers = Promise.all([turn, this.#waitForMore?.()]).then(async () => {
      if (this.#waiting === round) this.#waiting = undefined;
      over.signal.throwIfAborted();
      return await this.#answer([...requests], over.signal);
    });
    const round: PendingBatch<Question, Answer> = { questions: requests, answers, over, requesting: 0 };
    this.#waiting = round;
    const answered = answers.catch(() => {});
    this.#rounds.push(this.#untilNext(turn, answered));
    return round;
  }

  /** When the next batch starts: after the answer, or when it is too slow. */
  async #untilNext(running: Promise<unknown>, answered: Promise<unknown>): Promise<void> {
    const maxWait = this.#maxWait;
    if (!maxWait) return void (await answered);
    await running;
    const enough = new AbortController();
    await Promise.race([answered, maxWait(enough.signal).catch(() => {})]);
    enough.abort();
  }
}

/** A batch of questions. */
interface PendingBatch<Question, Answer> {
  readonly questions: Set<Question>;
  readonly answers: Promise<ReadonlyMap<Question, Answer>>;
  /** Aborts the call when no caller waits for its answer any more. */
  readonly over: AbortController;
  /** How many callers wait. */
  requesting: number;
}

type BatchResolver<Question, Answer> = (
  requests: readonly Question[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<Question, Answer>>;
