import { KubeError } from '../errors.ts';
import type { ResponseLimits } from '../transport/response-limits.ts';

/** Objects of one page. The budget reduces the number when objects are so large that a page exceeds the size limit. */
const defaultPageSize = 500;

/** Counts the pages of one list and stops a list that exceeds the limits. */
export class ListBudget {
  readonly #limits: ResponseLimits;
  readonly #path: string;
  #pageSize = defaultPageSize;
  #pages = 0;
  #items = 0;
  #bytes = 0;
  #token: string | undefined;

  constructor(limits: ResponseLimits, path: string) {
    this.#limits = limits;
    this.#path = path;
  }

  get pageSize(): number {
    return this.#pageSize;
  }

  /** Size limit of the next page. */
  get maxBytes(): number {
    return Math.min(this.#limits.answerBytes, this.#limits.listBytes - this.#bytes);
  }

  received(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Whether the request for a page that was too long can be repeated with fewer objects. */
  shrink(): boolean {
    if (this.#pageSize === 1 || this.maxBytes < this.#limits.answerBytes) return false;
    this.#pageSize = Math.max(1, Math.floor(this.#pageSize / 10));
    return true;
  }

  /** Accounts for a page; `token` continues the list. Throws when the list exceeds the limits. */
  took(items: number, token: string | undefined): void {
    this.#pages += 1;
    this.#items += items;
    const { listItems, listPages } = this.#limits;
    if (this.#items > listItems) throw this.#error('AnswerTooLong', `the list has more than ${listItems} objects`);
    if (!token) return;
    if (this.#pages >= listPages) throw this.#error('AnswerTooLong', `the list has more than ${listPages} pages`);
    if (token === this.#token) throw this.#error('BadAnswer', 'the continue token of the list was repeated');
    this.#token = token;
  }

  #error(reason: string, why: string): KubeError {
    return new KubeError({ status: 0, reason, message: `GET ${this.#path}: ${why}` });
  }
}
