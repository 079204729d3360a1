/**
 * Replaces names in plain data, anywhere in a string. The longest name wins among names with a common prefix, and a
 * number never matches the beginning of a longer one.
 */
export class NameSubstitution {
  readonly #names: ReadonlyMap<string, string>;
  readonly #pattern: RegExp;

  constructor(from: readonly string[], to: readonly string[]) {
    this.#names = new Map(from.map((name, i) => [name, to[i] ?? name]));
    const words = [...this.#names.keys()].sort((a, b) => b.length - a.length).map(escapeRegExp);
    this.#pattern = new RegExp(`(?:${words.join('|')})(?![0-9])`, 'g');
  }

  text(text: string): string {
    return text.replace(this.#pattern, (name) => this.#names.get(name) ?? name);
  }

  /** A copy of plain data with the replacements. */
  of<T>(value: T): T {
    return JSON.parse(this.text(JSON.stringify(value))) as T;
  }
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
