import type { Log, LogFields } from './log.ts';

/** One log line for the beginning of a problem and one for its end, however often it is tried in between. */
export class ProblemLog {
  readonly #log: Log;
  readonly #begin: string;
  readonly #end: string;
  #isLogged = false;

  /** `begin` and `end` are the messages. */
  constructor(log: Log, begin: string, end: string) {
    this.#log = log;
    this.#begin = begin;
    this.#end = end;
  }

  /** Another attempt failed. */
  failed(fields: LogFields): void {
    if (this.#isLogged) this.#log.debug(fields, this.#begin);
    else this.#log.warn(fields, this.#begin);
    this.#isLogged = true;
  }

  /** An attempt succeeded. */
  succeeded(fields: LogFields = {}): void {
    if (this.#isLogged) this.#log.info(fields, this.#end);
    this.#isLogged = false;
  }
}
