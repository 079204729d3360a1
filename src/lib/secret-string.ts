import { inspect } from 'node:util';

const redacted = '[secret]';

/**
 * A value that must never be printed. String conversion, JSON and `console.log` show `[secret]`; only `reveal()` gives
 * the text, so that every place that lets a secret out can be found by searching for that word.
 */
export class SecretString {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself. Use it at the last moment, in the call that needs it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}

/** Secrets by name, e.g. the keys of a referenced Kubernetes Secret. */
export type SecretStrings = Readonly<Record<string, SecretString>>;
