/** A JSON object with fields of unknown types. */
export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; an empty one for any other type. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

export const clone = <T>(value: T): T => structuredClone(value);

/** Deep equality of JSON values; the order of keys does not matter. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** JSON with sorted keys: equal values give equal text, as Go's encoder does for maps. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(',')}}`;
}

/** The same value with the keys of every object in order. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sortKeys) as T;
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])])) as T;
}

/** A value as Go prints it with `%v`: maps by their sorted keys, without quotes. */
export function formatLikeGo(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatLikeGo).join(' ')}]`;
  if (!isObject(value)) return value === null || value === undefined ? '<nil>' : String(value);
  const fields = Object.keys(value).sort();
  return `map[${fields.map((key) => `${key}:${formatLikeGo(value[key])}`).join(' ')}]`;
}

/** The value under a dotted path of plain names, e.g. `.spec.profile`. */
export function valueAtPath(value: unknown, path: string): unknown {
  let here = value;
  for (const name of path.replace(/^\./, '').split('.')) here = isObject(here) ? here[name] : undefined;
  return here;
}

/** The name of a JSON value's type in the API server's messages. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
