import { inspect } from 'node:util';

const shown = '[secret]';

/**
 * A value that must never be printed. String conversion, JSON and `console.log` show `[secret]`; only `reveal()` gives
 * the text, so that every place that lets a secret out can be found by searching for that word.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself. Use it at the last moment, in the call that needs it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}

/** Secrets by name, e.g. the keys of a referenced Kubernetes Secret. */
export type Secrets = Readonly<Record<string, Secret>>;
