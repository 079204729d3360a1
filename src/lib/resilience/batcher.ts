import { waitOrAbort } from '../deadline.ts';

export interface BatcherOptions {
  /** Questions that are asked together at most; default 50. */
  readonly most?: number;
  /** Calls that are under way at the same time at most; default 1. */
  readonly atOnce?: number;
  /** Resolves when those who come at the same time have come, too. Default: at once. */
  readonly linger?: () => Promise<void>;
  /** Resolves when an answer takes so long that those who asked meanwhile wait for it no longer. Default: never. */
  readonly patience?: (signal: AbortSignal) => Promise<void>;
}

/**
 * Answers many questions with few calls: what is asked while as many calls are under way as may be is asked together, as soon as an
 * answer has come. No answer is older than its question.
 */
export class Batcher<Question, Answer> {
  readonly #answer: BatchResolver<Question, Answer>;
  readonly #most: number;
  readonly #linger: BatcherOptions['linger'];
  readonly #patience: BatcherOptions['patience'];
  #waiting: PendingBatch<Question, Answer> | undefined;
  /** When the next calls may begin, one for each that may be under way. */
  readonly #turns: Promise<unknown>[];

  /**
   * `answer` brings its own deadline: no one of those who ask can end it, because others wait for it as well. Its signal ends
   * when all of them have given up.
   */
  constructor(answer: BatchResolver<Question, Answer>, options: BatcherOptions = {}) {
    this.#answer = answer;
    this.#most = options.most ?? 50;
    this.#turns = Array.from({ length: options.atOnce ?? 1 }, () => Promise.resolve());
    this.#linger = options.linger;
    this.#patience = options.patience;
  }

  /** The answer to one question; `undefined` when there is none. Throws what the call threw, or the signal's reason. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer | undefined> {
    signal.throwIfAborted();
    const round = this.#join(question);
    round.asking += 1;
    try {
      const answers = await waitOrAbort(round.answers, signal);
      return answers.get(question);
    } catch (error) {
      // Of an answer that failed, parts may still be under way that tell something of the other side.
      if (round.asking === 1 && signal.aborted) round.over.abort(error);
      throw error;
    } finally {
      round.asking -= 1;
    }
  }

  #join(question: Question): PendingBatch<Question, Answer> {
    const open = this.#waiting;
    if (open && open.questions.size < this.#most && !open.over.signal.aborted) {
      open.questions.add(question);
      return open;
    }
    const questions = new Set([question]);
    const over = new AbortController();
    const turn = this.#turns.shift() ?? Promise.resolve();
    const answers = Promise.all([turn, this.#linger?.()]).then(async () => {
      if (this.#waiting === round) this.#waiting = undefined;
      over.signal.throwIfAborted();
      return await this.#answer([...questions], over.signal);
    });
    const round: PendingBatch<Question, Answer> = { questions, answers, over, asking: 0 };
    this.#waiting = round;
    const answered = answers.catch(() => {});
    this.#turns.push(this.#untilNext(turn, answered));
    return round;
  }

  /** When the next ones are asked: after the answer, or when it takes too long. */
  async #untilNext(begun: Promise<unknown>, answered: Promise<unknown>): Promise<void> {
    const patience = this.#patience;
    if (!patience) return void (await answered);
    await begun;
    const enough = new AbortController();
    await Promise.race([answered, patience(enough.signal).catch(() => {})]);
    enough.abort();
  }
}

/** Questions that are asked together. */
interface PendingBatch<Question, Answer> {
  readonly questions: Set<Question>;
  readonly answers: Promise<ReadonlyMap<Question, Answer>>;
  /** Ends the call when nobody waits for its answer any more. */
  readonly over: AbortController;
  /** How many wait. */
  asking: number;
}

type BatchResolver<Question, Answer> = (
  questions: readonly Question[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<Question, Answer>>;
