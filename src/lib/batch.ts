import { orAborted } from './deadline.ts';

export interface BatchOptions {
  /** Questions that are asked together at most; default 50. */
  readonly most?: number;
}

/**
 * Answers many questions with few calls: what is asked while an answer is under way is asked together, as soon as that has
 * come. No answer is older than its question.
 */
export class Batch<Question, Answer> {
  readonly #answer: (questions: readonly Question[]) => Promise<ReadonlyMap<Question, Answer>>;
  readonly #most: number;
  #waiting: Round<Question, Answer> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** `answer` brings its own deadline: nobody who asks can end it, because others wait for it as well. */
  constructor(
    answer: (questions: readonly Question[]) => Promise<ReadonlyMap<Question, Answer>>,
    options: BatchOptions = {},
  ) {
    this.#answer = answer;
    this.#most = options.most ?? 50;
  }

  /** The answer to one question; `undefined` when there is none. Throws what the call threw, or the signal's reason. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer | undefined> {
    signal.throwIfAborted();
    const round = this.#join(question);
    const answers = await orAborted(round.answers, signal);
    return answers.get(question);
  }

  #join(question: Question): Round<Question, Answer> {
    const open = this.#waiting;
    if (open && open.questions.size < this.#most) {
      open.questions.add(question);
      return open;
    }
    const questions = new Set([question]);
    const answers = this.#last.then(async () => {
      if (this.#waiting === round) this.#waiting = undefined;
      return await this.#answer([...questions]);
    });
    const round: Round<Question, Answer> = { questions, answers };
    this.#waiting = round;
    this.#last = answers.catch(() => {});
    return round;
  }
}

/** Questions that are asked together. */
interface Round<Question, Answer> {
  readonly questions: Set<Question>;
  readonly answers: Promise<ReadonlyMap<Question, Answer>>;
}
