export type Fields = Readonly<Record<string, unknown>>;

/** Follows a path through maps; undefined when a key is missing. */
export function fieldAt(value: unknown, path: string): unknown {
  let current = value;
  for (const key of path.split('.')) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

export const textAt = (value: unknown, path: string): string => scalarText(fieldAt(value, path));
export const listAt = (value: unknown, path: string): unknown[] => {
  const found = fieldAt(value, path);
  return Array.isArray(found) ? found : [];
};
export const fieldsAt = (value: unknown, path: string): Fields => {
  const found = fieldAt(value, path);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Fields) : {};
};
export const textsAt = (value: unknown, path: string): string[] => listAt(value, path).map(scalarText);
export function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
