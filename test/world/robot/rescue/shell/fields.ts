import type { Piece } from './expand.ts';
import type { PatternPiece } from './pattern.ts';

/** Splits expanded pieces into words by IFS. A word that was quoted stays, even when it is empty. */
export function splitFields(pieces: readonly Piece[], ifs = ' \t\n'): PatternPiece[][] {
  const splitter = new Splitter(ifs);
  for (const chunk of pieces) {
    if (chunk.break) splitter.end();
    else if (chunk.split) splitter.addSplit(chunk.text);
    else splitter.add(chunk);
  }
  return splitter.finish();
}

class Splitter {
  readonly #ifs: string;
  readonly #fields: PatternPiece[][] = [];
  #current: PatternPiece[] | undefined;
  /** White space ended a word, and a separator that follows belongs to it. */
  #afterBlank = false;

  constructor(ifs: string) {
    this.#ifs = ifs;
  }

  add({ text, quoted }: PatternPiece): void {
    if (text === '' && !quoted) return;
    this.#afterBlank = false;
    this.#current = [...(this.#current ?? []), { text, quoted }];
  }

  addSplit(text: string): void {
    let run = '';
    const flush = (): void => {
      this.add({ text: run, quoted: false });
      run = '';
    };
    for (const char of text) {
      if (!this.#ifs.includes(char)) {
        run += char;
        continue;
      }
      flush();
      if (char === ' ' || char === '\t' || char === '\n') this.#blank();
      else this.#separator();
    }
    flush();
  }

  end(): void {
    if (this.#current) this.#fields.push(this.#current);
    this.#current = undefined;
    this.#afterBlank = false;
  }

  finish(): PatternPiece[][] {
    this.end();
    return this.#fields;
  }

  #blank(): void {
    if (!this.#current) return;
    this.end();
    this.#afterBlank = true;
  }

  #separator(): void {
    if (this.#afterBlank) {
      this.#afterBlank = false;
      return;
    }
    this.#fields.push(this.#current ?? []);
    this.#current = undefined;
  }
}
