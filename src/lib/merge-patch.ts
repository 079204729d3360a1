import { isDeepStrictEqual } from 'node:util';

type JsonObject = Readonly<Record<string, unknown>>;

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The JSON merge patch (RFC 7396) that turns `before` into `after`, or undefined when they are equal and nothing has to
 * be written. Removed keys become null; lists are replaced whole. Undefined counts as absent.
 */
export function createMergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = patchValue(before[key], after[key]);
    if (change !== undefined) patch[key] = change;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** The patch value of one key: undefined for no change, null to remove it. */
function patchValue(old: unknown, now: unknown): unknown {
  if (isJsonObject(old) && isJsonObject(now)) return createMergePatch(old, now);
  if (now === undefined || now === null) return old === undefined || old === null ? undefined : null;
  return isDeepStrictEqual(old, now) ? undefined : now;
}
