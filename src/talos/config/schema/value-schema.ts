import { isIP } from 'node:net';
import { isRecord } from '../config-document.ts';
import { isBase64, isCidr, isDuration } from './formats.ts';

/** The schema of a value. */
export type ValueSchema =
  /** Not validated further. */
  | { readonly is: 'any' }
  /** `description` completes the sentence "it has to be …". */
  | { readonly is: 'scalar'; readonly description: string; readonly accepts: (value: unknown) => boolean }
  | { readonly is: 'list' | 'map'; readonly of: ValueSchema }
  | ObjectValueSchema;

/** An object with these keys and no others. */
export interface ObjectValueSchema {
  readonly is: 'keys';
  readonly keys: Readonly<Record<string, ValueSchema>>;
}

const scalarSchema = (such: string, holds: (value: unknown) => boolean): ValueSchema => ({
  is: 'scalar',
  description: such,
  accepts: holds,
});
const isScalar = (value: unknown): boolean => typeof value !== 'object';

const scalarSchemas: Readonly<Record<string, ValueSchema>> = {
  // A YAML parser also accepts numbers and booleans as texts.
  '': scalarSchema('a string', isScalar),
  '#': scalarSchema('a whole number, without quotes', Number.isInteger),
  '?': scalarSchema('true or false, without quotes', (value) => typeof value === 'boolean'),
  '@': scalarSchema('a duration like 30s', isDuration),
  '^': scalarSchema('an IP address', (value) => isIP(String(value)) !== 0),
  '/': scalarSchema('a subnet like 192.0.2.0/24', isCidr),
  '=': scalarSchema('in base64', isBase64),
  '~': { is: 'any' },
};
const scalarMark = /[#?@^/=~]/y;

/**
 * Parses the short form of the adjacent tables: keys separated by blanks, each with a mark for its type. No mark is a
 * text, `#` a number, `?` a boolean, `@` a duration, `^` an address, `/` a subnet, `=` Base64, `~` any value, `(a|b)`
 * one of these words. `[…]` is a list and `{…}` an object with the enclosed content: keys, or one of these marks for
 * each element. `{*…}` is a map of objects with these keys.
 *
 *     name mtu# up? links[] labels{} config{~} mode(fast|slow) routes[gateway^ metric#] mirrors{*endpoints[]}
 */
export function parseValueSchema(text: string): ObjectValueSchema {
  const reader = { text, at: 0 };
  const keys = readProperties(reader);
  if (reader.at !== text.length) throw new Error(`shape: unexpected ${text.slice(reader.at)}`);
  return { is: 'keys', keys };
}

interface SchemaReader {
  readonly text: string;
  at: number;
}

/** `sticky`: matches only at the current position. */
function readToken(reader: SchemaReader, sticky: RegExp): string {
  sticky.lastIndex = reader.at;
  const found = sticky.exec(reader.text)?.[0] ?? '';
  reader.at += found.length;
  return found;
}

function readProperties(reader: SchemaReader): Record<string, ValueSchema> {
  const keys: Record<string, ValueSchema> = {};
  for (let name = readToken(reader, / *[\w-]+/y); name !== ''; name = readToken(reader, / *[\w-]+/y)) {
    keys[name.trim()] = readSchema(reader);
  }
  return keys;
}

function readSchema(reader: SchemaReader): ValueSchema {
  const open = readToken(reader, /\[|\{\*?/y);
  if (open === '') return readScalar(reader);
  const scalar = readScalar(reader);
  const empty = /[\]}]/.test(reader.text[reader.at] ?? '');
  const inner: ValueSchema = empty ? scalar : { is: 'keys', keys: readProperties(reader) };
  if (readToken(reader, /[\]}]/y) === '') throw new Error(`shape: nothing closes ${reader.text}`);
  if (open === '[') return { is: 'list', of: inner };
  return empty || open === '{*' ? { is: 'map', of: inner } : inner;
}

function readScalar(reader: SchemaReader): ValueSchema {
  const options = readToken(reader, /\([^)]*\)/y)
    .slice(1, -1)
    .split('|');
  if (options.length > 1)
    return scalarSchema(`one of ${options.join(', ')}`, (value) => options.includes(String(value)));
  return scalarSchemas[readToken(reader, scalarMark)] ?? { is: 'any' };
}

/**
 * Finds values that do not match their schema, as sentences that begin with the path and have no full stop. Null values
 * are skipped, and values with `$patch` are always valid.
 */
export function findSchemaProblems(value: unknown, shape: ValueSchema, path = ''): string[] {
  if (value === null || value === undefined || (isRecord(value) && '$patch' in value && path !== '')) return [];
  switch (shape.is) {
    case 'any':
      return [];
    case 'scalar':
      return isScalar(value) && shape.accepts(value) ? [] : [`${path} must be ${shape.description}`];
    case 'list':
      if (!Array.isArray(value)) return [`${path} must be a list`];
      return value.flatMap((element, i) => findSchemaProblems(element, shape.of, `${path}[${i}]`));
    case 'map':
      if (!isRecord(value)) return [`${path} must be a map`];
      return Object.entries(value).flatMap(([key, one]) => findSchemaProblems(one, shape.of, childPath(path, key)));
    case 'keys':
      if (!isRecord(value)) return [`${path} must be a map`];
      return Object.entries(value).flatMap(([key, one]) => {
        const wanted = Object.hasOwn(shape.keys, key) ? shape.keys[key] : undefined;
        if (!wanted) return [`${childPath(path, key)} does not exist`];
        return findSchemaProblems(one, wanted, childPath(path, key));
      });
  }
}

function childPath(path: string, key: string): string {
  const name = /^[\w./-]+$/.test(key) ? key : JSON.stringify(key);
  return path === '' ? name : `${path}.${name}`;
}
