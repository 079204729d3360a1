import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { ConfigError } from './config-error.ts';
import type { ScalarShape, ValueShape } from './value-shape.ts';

/** The context of a document: the Talos version (1.`minor`), and how a node of it is located in the text. */
export interface ReadingContext {
  readonly minor: number;
  readonly document: Document;
  readonly lineOf: (node: Node) => number;
}

/** A value of the wrong type, as the YAML decoder of Talos reports it. */
interface TypeMismatch {
  readonly line: number;
  readonly message: string;
}

/**
 * Throws when values have a wrong type. The error lists all of them in the words of this version's decoder
 * (go.yaml.in/yaml/v4: rc.3 in 1.12, rc.4 in 1.13, later in 1.14). `target` is the type that is decoded into.
 */
export function throwOnTypeMismatch(node: Node, shape: ValueShape, reading: ReadingContext, target: string): void {
  const found = [...typeMismatches(node, shape, reading)].map(({ line, message }) => `line ${line}: ${message}`);
  if (found.length === 0) return;
  const title = `yaml: ${reading.minor >= 13 ? 'construct' : 'unmarshal'} errors:`;
  const all = reading.minor >= 14 ? ` ${found.join('; ')}` : `\n  ${found.join('\n  ')}`;
  throw new ConfigError(`error decoding ${target}: ${title}${all}`);
}

/** The unknown keys of a node, in Talos's nested form, or undefined without any. */
export function findUnknownKeys(given: Node | null, shape: ValueShape, reading: ReadingContext): unknown {
  const node = resolve(given, reading);
  if (isSeq(node)) return unknownKeysInList(node.items as Node[], shape, reading);
  if (!isMap(node) || typeof shape === 'string' || 'list' in shape) return undefined;
  const found: Record<string, unknown> = {};
  for (const pair of node.items) {
    const key = keyOf(pair);
    const inner = 'map' in shape ? shape.map : shape.fields[key];
    const unknown = inner === undefined ? pair.value : findUnknownKeys(pair.value as Node | null, inner, reading);
    if (unknown !== undefined) found[key] = unknown;
  }
  const keys = Object.keys(found).sort();
  return keys.length > 0 ? Object.fromEntries(keys.map((key) => [key, found[key]])) : undefined;
}

/** Lists as values of extra arguments have no keys. */
function unknownKeysInList(items: readonly Node[], shape: ValueShape, reading: ReadingContext): unknown {
  if (typeof shape === 'string' || !('list' in shape)) return undefined;
  const found = items.map((item) => findUnknownKeys(item, shape.list, reading)).filter((item) => item !== undefined);
  return found.length > 0 ? found : undefined;
}

function* typeMismatches(given: Node | null, shape: ValueShape, reading: ReadingContext): Generator<TypeMismatch> {
  const node = resolve(given, reading);
  if (node === null || shape === 'any' || isNull(node)) return;
  if (typeof shape === 'string') {
    const message = scalarMismatch(node, shape, reading);
    if (message !== undefined) yield { line: reading.lineOf(node), message };
  } else if ('list' in shape) {
    if (isSeq(node)) for (const item of node.items) yield* typeMismatches(item as Node, shape.list, reading);
    else yield { line: reading.lineOf(node), message: cannotUnmarshal(node, shape, reading) };
  } else if (!isMap(node)) yield { line: reading.lineOf(node), message: cannotUnmarshal(node, shape, reading) };
  else {
    yield* doubles(node, reading);
    for (const pair of node.items) {
      const inner = 'map' in shape ? shape.map : shape.fields[keyOf(pair)];
      if (inner !== undefined) yield* typeMismatches(pair.value as Node | null, inner, reading);
    }
  }
}

function* doubles(map: YAMLMap, reading: ReadingContext): Generator<TypeMismatch> {
  const seen = new Map<string, number>();
  for (const pair of map.items) {
    const line = reading.lineOf(pair.key as Node);
    const first = seen.get(keyOf(pair));
    if (first === undefined) seen.set(keyOf(pair), line);
    else yield { line, message: `mapping key "${keyOf(pair)}" already defined at line ${first}` };
  }
}

/** YAML decodes any scalar into a string; numbers and booleans must have their own type. */
function scalarMismatch(node: Node, shape: ScalarShape, reading: ReadingContext): string | undefined {
  if (shape === 'argument' && reading.minor >= 13) {
    const items = isSeq(node) ? (node.items as Node[]).map((item) => resolve(item, reading)) : [node];
    return items.every((item) => isScalar(item)) ? undefined : 'arg value must be a string or list of strings';
  }
  if (!isScalar(node)) return cannotUnmarshal(node, shape, reading);
  if (shape === 'bool') return typeof node.value === 'boolean' ? undefined : cannotUnmarshal(node, shape, reading);
  // Until 1.12 the fraction was omitted.
  const isInt = reading.minor >= 13 ? Number.isInteger(node.value) : typeof node.value === 'number';
  if (shape === 'int') return isInt ? undefined : cannotUnmarshal(node, shape, reading);
  if (shape === 'duration' && !isDuration(String(node.value))) return cannotUnmarshal(node, shape, reading);
  const wrong = shape === 'base64' ? invalidBase64Position(String(node.value)) : undefined;
  return wrong === undefined ? undefined : `illegal base64 data at input byte ${wrong}`;
}

const isDuration = (text: string): boolean => /^[+-]?(?:0|(?:\d+\.?\d*(?:ns|us|µs|ms|s|m|h))+)$/.test(text);

/** The offset of the first invalid base64 byte, as Go counts it. */
function invalidBase64Position(text: string): number | undefined {
  const letters = text.replace(/[\r\n]/g, '');
  const foreign = letters.search(/[^A-Za-z0-9+/=]/);
  if (foreign >= 0) return foreign;
  return letters.length % 4 === 0 ? undefined : letters.length - (letters.length % 4);
}

function cannotUnmarshal(node: Node, shape: ValueShape, { minor }: ReadingContext): string {
  const verb = minor >= 13 ? 'construct' : 'unmarshal';
  return `cannot ${verb} ${describe(node)} into ${goType(shape, minor)}`;
}

function describe(node: Node): string {
  if (!isScalar(node)) return isSeq(node) ? '!!seq' : '!!map';
  const { value, source = String(node.value) } = node;
  const number = Number.isInteger(value) ? '!!int' : '!!float';
  const tag = typeof value === 'number' ? number : typeof value === 'boolean' ? '!!bool' : '!!str';
  return `${tag} \`${source.length > 10 ? `${source.slice(0, 7)}...` : source}\``;
}

const goScalars: Readonly<Record<string, string>> = {
  ...{ text: 'string', int: 'int', bool: 'bool', any: 'interface {}' },
  ...{ base64: 'string', duration: 'time.Duration', argument: 'string' },
};

function goType(shape: ValueShape, minor: number): string {
  if (typeof shape === 'string') return goScalars[shape] ?? shape;
  if ('list' in shape) return `[]${goType(shape.list, minor)}`;
  if (!('map' in shape)) return shape.type ?? 'struct';
  if (shape.map !== 'argument' || minor < 13) return `map[string]${goType(shape.map, minor)}`;
  return minor >= 14 ? 'meta.Args' : 'v1alpha1.Args';
}

const isNull = (node: Node): boolean => isScalar(node) && node.value === null;

const resolve = (node: Node | null, { document }: ReadingContext): Node | null =>
  isAlias(node) ? (node.resolve(document) ?? null) : node;

const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);
