import { inspect } from 'node:util';

const redacted = '[secret]';

/**
 * A value that must never be printed. String conversion, JSON and `console.log` show `[secret]`; only `reveal()`
 * returns the text, so that a search for that word finds every place that uses it.
 */
export class SecretString {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself. Call it as late as possible, in the call that needs it. */
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
