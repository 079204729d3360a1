import { isIP } from 'node:net';
import { isRecord } from './document.ts';
import { isBase64, isCidr, isDuration } from './syntax.ts';

/** What a value may be. */
export type Shape =
  /** Not looked into. */
  | { readonly is: 'any' }
  /** `such` is the end of the sentence "it has to be …". */
  | { readonly is: 'scalar'; readonly such: string; readonly holds: (value: unknown) => boolean }
  | { readonly is: 'list' | 'map'; readonly of: Shape }
  | Keys;

/** An object with these keys and no others. */
export interface Keys {
  readonly is: 'keys';
  readonly keys: Readonly<Record<string, Shape>>;
}

const scalar = (such: string, holds: (value: unknown) => boolean): Shape => ({ is: 'scalar', such, holds });
const isScalar = (value: unknown): boolean => typeof value !== 'object';

const marks: Readonly<Record<string, Shape>> = {
  // A YAML reader takes numbers and truth values for texts too.
  '': scalar('a text', isScalar),
  '#': scalar('a whole number, without quotes', Number.isInteger),
  '?': scalar('true or false, without quotes', (value) => typeof value === 'boolean'),
  '@': scalar('a duration like 30s', isDuration),
  '^': scalar('an IP address', (value) => isIP(String(value)) !== 0),
  '/': scalar('a subnet like 192.0.2.0/24', isCidr),
  '=': scalar('in base64', isBase64),
  '~': { is: 'any' },
};
const markPattern = /[#?@^/=~]/y;

/**
 * Reads the short form of the tables beside: keys with blanks between them, each with what it holds. Nothing is a text,
 * `#` a number, `?` true or false, `@` a duration, `^` an address, `/` a subnet, `=` base64, `~` anything, `(a|b)` one of
 * these words; `[…]` is a list and `{…}` an object of what stands inside: keys, or one of these marks for each element.
 * `{*…}` is a map of objects with these keys.
 *
 *     name mtu# up? links[] labels{} config{~} mode(fast|slow) routes[gateway^ metric#] mirrors{*endpoints[]}
 */
export function shapeOf(text: string): Keys {
  const reader = { text, at: 0 };
  const keys = readKeys(reader);
  if (reader.at !== text.length) throw new Error(`shape: unexpected ${text.slice(reader.at)}`);
  return { is: 'keys', keys };
}

interface Reader {
  readonly text: string;
  at: number;
}

/** `sticky`: looks only where the reader is. */
function take(reader: Reader, sticky: RegExp): string {
  sticky.lastIndex = reader.at;
  const found = sticky.exec(reader.text)?.[0] ?? '';
  reader.at += found.length;
  return found;
}

function readKeys(reader: Reader): Record<string, Shape> {
  const keys: Record<string, Shape> = {};
  for (let name = take(reader, / *[\w-]+/y); name !== ''; name = take(reader, / *[\w-]+/y)) {
    keys[name.trim()] = readShape(reader);
  }
  return keys;
}

function readShape(reader: Reader): Shape {
  const open = take(reader, /\[|\{\*?/y);
  if (open === '') return readScalar(reader);
  const scalar = readScalar(reader);
  const empty = /[\]}]/.test(reader.text[reader.at] ?? '');
  const inner: Shape = empty ? scalar : { is: 'keys', keys: readKeys(reader) };
  if (take(reader, /[\]}]/y) === '') throw new Error(`shape: nothing closes ${reader.text}`);
  if (open === '[') return { is: 'list', of: inner };
  return empty || open === '{*' ? { is: 'map', of: inner } : inner;
}

function readScalar(reader: Reader): Shape {
  const words = take(reader, /\([^)]*\)/y)
    .slice(1, -1)
    .split('|');
  if (words.length > 1) return scalar(`one of ${words.join(', ')}`, (value) => words.includes(String(value)));
  return marks[take(reader, markPattern)] ?? { is: 'any' };
}

/**
 * Where a value is not of its shape, as sentences that begin with the path and have no full stop. What is null is left
 * out, and what a patch marks with `$patch` goes.
 */
export function findMisfits(value: unknown, shape: Shape, path = ''): string[] {
  if (value === null || value === undefined || (isRecord(value) && '$patch' in value && path !== '')) return [];
  switch (shape.is) {
    case 'any':
      return [];
    case 'scalar':
      return isScalar(value) && shape.holds(value) ? [] : [`${path} has to be ${shape.such}`];
    case 'list':
      if (!Array.isArray(value)) return [`${path} has to be a list`];
      return value.flatMap((element, i) => findMisfits(element, shape.of, `${path}[${i}]`));
    case 'map':
      if (!isRecord(value)) return [`${path} has to be a map`];
      return Object.entries(value).flatMap(([key, one]) => findMisfits(one, shape.of, below(path, key)));
    case 'keys':
      if (!isRecord(value)) return [`${path} has to be a map`];
      return Object.entries(value).flatMap(([key, one]) => {
        const wanted = Object.hasOwn(shape.keys, key) ? shape.keys[key] : undefined;
        if (!wanted) return [`${below(path, key)} does not exist`];
        return findMisfits(one, wanted, below(path, key));
      });
  }
}

function below(path: string, key: string): string {
  const name = /^[\w./-]+$/.test(key) ? key : JSON.stringify(key);
  return path === '' ? name : `${path}.${name}`;
}
