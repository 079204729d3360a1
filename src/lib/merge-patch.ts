import { isDeepStrictEqual } from 'node:util';

type Plain = Readonly<Record<string, unknown>>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The JSON merge patch (RFC 7396) that turns `before` into `after`, or undefined when they are equal: then there is
 * nothing to write. Keys that are gone become null; lists are replaced whole. Undefined counts as absent.
 */
export function mergeDiff(before: Plain, after: Plain): Plain | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = before[key];
    const now = after[key];
    if (isPlain(old) && isPlain(now)) {
      const inner = mergeDiff(old, now);
      if (inner) patch[key] = inner;
    } else if (now === undefined) {
      if (old !== undefined && old !== null) patch[key] = null;
    } else if (!isDeepStrictEqual(old, now)) {
      patch[key] = now;
    }
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
