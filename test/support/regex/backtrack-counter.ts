import { parsePattern, type RegexNode } from './parse-pattern.ts';

/** Limit for each character of a text; the count stops there. */
const maxStepsPerCharacter = 300;

class TooManySteps extends Error {}

/**
 * Counts the steps that a backtracking engine takes to search a text, without V8's optimizations. Unlike measured time,
 * the count is deterministic.
 */
export class BacktrackCounter {
  readonly tree: RegexNode;
  readonly #flags: string;
  readonly #known = new Map<string, boolean>();
  #text = '';
  #steps = 0;
  #most = 0;

  constructor({ source, flags }: Pick<RegExp, 'source' | 'flags'>) {
    this.tree = parsePattern(source);
    this.#flags = flags;
  }

  /** Of one search through the whole text, from each position until a match. */
  count(text: string): { readonly steps: number; readonly found: string | undefined; readonly isTooMuch: boolean } {
    this.#text = text;
    this.#most = maxStepsPerCharacter * (text.length + 1);
    this.#steps = 0;
    try {
      for (let from = 0; from <= text.length; from += 1) {
        let end = -1;
        const isFound = this.#walk(this.tree, from, (at) => {
          end = at;
          return true;
        });
        if (isFound) return { steps: this.#steps, found: text.slice(from, end), isTooMuch: false };
        if (this.#flags.includes('y')) break;
      }
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      return { steps: this.#steps, found: undefined, isTooMuch: true };
    }
    return { steps: this.#steps, found: undefined, isTooMuch: false };
  }

  /** Whether one character matches. */
  fits(source: string, character: string): boolean {
    const key = `${source}\0${character}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const flags = this.#flags.replace(/[gy]/g, '');
    const isFit = new RegExp(`^(?:${source})$`, flags.replace('m', '')).test(character);
    this.#known.set(key, isFit);
    return isFit;
  }

  #walk(node: RegexNode, at: number, next: (at: number) => boolean): boolean {
    this.#step();
    switch (node.is) {
      case 'character': {
        const character = this.#text[at];
        return character !== undefined && this.fits(node.source, character) && next(at + 1);
      }
      case 'assertion':
        return this.#holds(node.source, at) && next(at);
      case 'look':
        return this.#walk(node.of, at, () => true) === node.ahead && next(at);
      case 'sequence':
        return this.#sequence(node.parts, 0, at, next);
      case 'choice':
        return node.ways.some((way) => this.#walk(way, at, next));
      case 'repeat':
        if (node.of.is === 'character' && !node.isLazy) return this.#run(node, node.of.source, at, next);
        return this.#repeat(node, 0, at, next);
    }
  }

  #step(): void {
    this.#steps += 1;
    if (this.#steps > this.#most) throw new TooManySteps();
  }

  /** A repeat of one character, without a call for each. */
  #run(node: RegexNode & { is: 'repeat' }, source: string, at: number, next: (at: number) => boolean): boolean {
    let end = at;
    for (; end - at < node.max; end += 1) {
      this.#step();
      const character = this.#text[end];
      if (character === undefined || !this.fits(source, character)) break;
    }
    for (; end - at >= node.min; end -= 1) {
      this.#step();
      if (next(end)) return true;
    }
    return false;
  }

  #sequence(parts: readonly RegexNode[], index: number, at: number, next: (at: number) => boolean): boolean {
    const part = parts[index];
    if (!part) return next(at);
    return this.#walk(part, at, (end) => this.#sequence(parts, index + 1, end, next));
  }

  #repeat(node: RegexNode & { is: 'repeat' }, times: number, at: number, next: (at: number) => boolean): boolean {
    const more = () =>
      times < node.max &&
      this.#walk(node.of, at, (end) => (end > at || times < node.min) && this.#repeat(node, times + 1, end, next));
    const enough = () => times >= node.min && next(at);
    return node.isLazy ? enough() || more() : more() || enough();
  }

  #holds(source: string, at: number): boolean {
    const [before, after] = [this.#text[at - 1], this.#text[at]];
    const isMultiline = this.#flags.includes('m');
    if (source === '^') return at === 0 || (isMultiline && before === '\n');
    if (source === '$') return at === this.#text.length || (isMultiline && after === '\n');
    const isWord = (one: string | undefined) => one !== undefined && /\w/.test(one);
    return (isWord(before) !== isWord(after)) === (source === '\\b');
  }
}
