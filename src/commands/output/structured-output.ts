import { stringify } from 'yaml';
import { toPrintable } from '../../lib/text.ts';

export type StructuredFormat = 'json' | 'yaml';
/** `text` is for people. */
export type OutputFormat = 'text' | StructuredFormat;

/** A value for programs. Its texts have no control characters, which a terminal would obey. */
export function formatStructured(value: object, format: StructuredFormat): string {
  const printable: unknown = JSON.parse(JSON.stringify(value, replaceText));
  return format === 'json' ? JSON.stringify(printable, undefined, 2) : stringify(printable, { lineWidth: 0 }).trimEnd();
}

const replaceText = (_key: string, value: unknown): unknown => (typeof value === 'string' ? toPrintable(value) : value);
