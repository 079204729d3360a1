import { createHash } from 'node:crypto';
import { trimTrailing } from './text.ts';

const base32Alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Eight characters that represent a list of names: SHAKE128 over the names joined by `/`, 5 bytes, base32 in lower
 * case. The same function as in openMCP's controller-utils (`pkg/controller/hash.go`), so that names match those of
 * other providers.
 */
export function hashNames(...names: string[]): string {
  let bits = 0n;
  for (const byte of hashBytes(names, 5)) bits = (bits << 8n) | BigInt(byte);
  return Array.from({ length: 8 }, (_, i) => base32Alphabet[Number((bits >> BigInt(35 - 5 * i)) & 31n)]).join('');
}

/** A UUID (version 8) that represents a list of names. Same source as {@link hashNames}. */
export function uuidFromNames(...names: string[]): string {
  const bytes = hashBytes(names, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * `name` when it fits into `max` characters, else its beginning followed by `--` and {@link hashNames} of the whole
 * name. Throws a RangeError when `max` is too small for the hash.
 */
export function shortenName(name: string, max = 63): string {
  if (max <= 10) throw new RangeError(`a shortened name needs more than 10 characters, not ${max}`);
  if (name.length <= max) return name;
  return `${trimTrailing(name.slice(0, max - 10), /[-.]/)}--${hashNames(name)}`;
}

/** Identifies a text, in 16 hexadecimal characters. */
export const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** A whole number below `limit`, always the same for one id: spreads what would happen to all of them at once. */
export const spreadById = (id: string, limit: number): number =>
  createHash('sha256').update(id).digest().readUInt32BE() % limit;

function hashBytes(names: string[], outputLength: number): Buffer {
  return createHash('shake128', { outputLength }).update(names.join('/')).digest();
}
