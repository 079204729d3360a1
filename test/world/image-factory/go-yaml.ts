import { isScalar, isSeq, parseDocument } from 'yaml';

/**
 * Writes YAML as Go's emitter does (go.yaml.in/yaml, v3 and v4): indentation of four spaces, also before list items,
 * and quotes only where a plain scalar would be read differently. The id of a schematic is the hash of these bytes.
 */
export function toGoYaml(value: Readonly<Record<string, unknown>>): string {
  return `${mapLines(value, 0).join('\n')}\n`;
}

const indent = (depth: number): string => ' '.repeat(4 * depth);

function mapLines(value: Readonly<Record<string, unknown>>, depth: number): string[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const head = `${indent(depth)}${scalar(key, '')}:`;
    if (Array.isArray(inner)) return [head, ...inner.map((item) => listItem(item, depth + 1))];
    if (!isMap(inner)) return [`${head} ${inlineOrBlock(inner, indent(depth + 1))}`];
    const below = mapLines(inner, depth + 1);
    return below.length === 0 ? [`${head} {}`] : [head, ...below];
  });
}

const listItem = (item: unknown, depth: number): string =>
  `${indent(depth)}- ${inlineOrBlock(item, `${indent(depth)}  `)}`;

const inlineOrBlock = (value: unknown, below: string): string =>
  typeof value === 'string' ? scalar(value, below) : String(value);

/** Plain when it reads back unchanged, double-quoted when it would not be a string, otherwise single-quoted. */
function scalar(text: string, below: string): string {
  if (text.includes('\n')) return blockLiteral(text, below);
  if (text === '' || unprintable.test(text)) return JSON.stringify(text);
  // Go ignores underscores in numbers, and accepts signs before all of them.
  const number = /^(?:\d|[-+][\d_.])/.test(text) ? text.replace(/^[-+]/, '').replaceAll('_', '') : '';
  if (number !== '' && unquotedReading(number, '1.2') === 'other') return JSON.stringify(text);
  const readings = (['1.1', '1.2'] as const).map((version) => unquotedReading(text, version));
  if (text === '<<' || readings.includes('other')) return JSON.stringify(text);
  const endsDocument = /^(?:---|\.\.\.)/.test(text);
  return readings.every((one) => one === 'same') && !endsDocument ? text : `'${text.replaceAll("'", "''")}'`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are escaped.
const unprintable = /[\x00-\x1f\x7f-\x9f\ufeff]/;

/** How a reader resolves an unquoted text: as the same string, as another type, or as a syntax error. */
function unquotedReading(text: string, version: '1.1' | '1.2'): 'same' | 'other' | 'none' {
  const document = parseDocument(`- ${text}`, { version });
  const item =
    isSeq(document.contents) && document.contents.items.length === 1 ? document.contents.items[0] : undefined;
  const isPlain = document.errors.length + document.warnings.length === 0 && isScalar(item) && item.type === 'PLAIN';
  if (!isPlain || document.comment || item.comment || item.source !== text) return 'none';
  const { value } = item;
  // This reader accepts more numbers than Go's: those without a digit, and those beyond float64.
  const isNumber = /^[-+]?\d|^[-+]?\.\d+(?!.*_)/.test(text) && Number.isFinite(value);
  const isNone = typeof value === 'number' && !isNumber && !/inf|nan/i.test(text);
  return isNone || value === text ? 'same' : 'other';
}

/** Multiple lines follow below, each unchanged. */
function blockLiteral(text: string, below: string): string {
  const end = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = text.replace(/\n$/, '').split('\n');
  const begin = /^[ \n]/.test(text) ? '4' : '';
  return [`|${begin}${end}`, ...body.map((line) => (line === '' ? '' : `${below}${line}`))].join('\n');
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
