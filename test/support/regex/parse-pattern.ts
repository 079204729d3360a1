/** A regular expression as a backtracking engine evaluates it. */
export type RegexNode =
  /** One character; `source` is a pattern of one character. */
  | { readonly is: 'character'; readonly source: string }
  | { readonly is: 'assertion'; readonly source: string }
  | { readonly is: 'look'; readonly ahead: boolean; readonly of: RegexNode }
  | { readonly is: 'sequence'; readonly parts: readonly RegexNode[] }
  | { readonly is: 'choice'; readonly ways: readonly RegexNode[] }
  | {
      readonly is: 'repeat';
      readonly of: RegexNode;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    };

/** Throws for unknown syntax, so that no pattern is judged by a wrong parse. */
export function parsePattern(pattern: string): RegexNode {
  const reader = new PatternReader(pattern);
  const node = readChoice(reader);
  if (!reader.isOver) throw new Error(`/${pattern}/: unexpected ${reader.rest}`);
  return node;
}

class PatternReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  get rest(): string {
    return this.#text.slice(this.#at);
  }

  /** The match at the current position, which is consumed. */
  take(pattern: RegExp): string | undefined {
    const sticky = new RegExp(pattern.source, 'y');
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}

function readChoice(reader: PatternReader): RegexNode {
  const ways = [readSequence(reader)];
  while (reader.take(/\|/)) ways.push(readSequence(reader));
  return ways.length === 1 && ways[0] ? ways[0] : { is: 'choice', ways };
}

function readSequence(reader: PatternReader): RegexNode {
  const parts: RegexNode[] = [];
  while (!reader.isOver && !/^[|)]/.test(reader.rest)) parts.push(readRepeat(reader));
  return { is: 'sequence', parts };
}

function readRepeat(reader: PatternReader): RegexNode {
  const of = readAtom(reader);
  const mark = reader.take(/[*+?]|\{\d+(?:,\d*)?\}/);
  if (mark === undefined) return of;
  return { is: 'repeat', of, ...parseBounds(mark), isLazy: reader.take(/\?/) !== undefined };
}

function parseBounds(mark: string): { min: number; max: number } {
  const simple = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[mark];
  if (simple) return { min: simple[0] ?? 0, max: simple[1] ?? 0 };
  const [min = '0', max = min] = mark.slice(1, -1).split(',');
  return { min: Number(min), max: max === '' ? Infinity : Number(max) };
}

function readAtom(reader: PatternReader): RegexNode {
  const assertion = reader.take(/\^|\$|\\[bB]/);
  if (assertion !== undefined) return { is: 'assertion', source: assertion };
  const open = reader.take(/\((?:\?(?:[:=!]|<[A-Za-z]\w*>))?/);
  if (open !== undefined) {
    const of = readChoice(reader);
    if (reader.take(/\)/) === undefined) throw new Error(`nothing closes ${open}`);
    return open === '(?=' || open === '(?!' ? { is: 'look', ahead: open === '(?=', of } : of;
  }
  const group = /\[(?:[^\]\\]|\\.)*\]/;
  const escaped = /\\(?:p\{\w+\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[dDwWsSnrtfv0]|[^A-Za-z0-9])/;
  const source = reader.take(group) ?? reader.take(escaped) ?? reader.take(/[^\\()[\]{}*+?|^$]|[\]}]/);
  if (source === undefined) throw new Error(`not understood: ${reader.rest}`);
  return { is: 'character', source };
}
