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
    const change = difference(before[key], after[key]);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** What to write for one key: undefined for nothing, null to remove it. */
function difference(old: unknown, now: unknown): unknown {
  if (isPlain(old) && isPlain(now)) return mergeDiff(old, now);
  if (now === undefined || now === null) return old === undefined || old === null ? undefined : null;
  return isDeepStrictEqual(old, now) ? undefined : now;
}
