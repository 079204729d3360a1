/**
 * One document of a machine configuration or of a patch. The main document has no `kind` and holds `machine` and
 * `cluster`; every other document has a `kind` and `apiVersion: v1alpha1`.
 */
export type ConfigDocument = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The identity of a document in Talos. There is at most one document of each identity. */
export function documentIdentity(document: ConfigDocument): string {
  const kind = typeof document['kind'] === 'string' ? document['kind'] : '';
  if (kind === '') return 'v1alpha1';
  return typeof document['name'] === 'string' && document['name'] !== '' ? `${kind} ${document['name']}` : kind;
}

/** The main document has no kind. */
export const isMainConfigDocument = (document: ConfigDocument): boolean => !('kind' in document);

/** The value at a dotted path, or undefined. */
export function valueAt(document: unknown, path: string): unknown {
  let value = document;
  for (const key of path.split('.')) value = isRecord(value) ? value[key] : undefined;
  return value;
}

/** The objects in a list at a dotted path; empty when there is no list. */
export function recordsAt(document: unknown, path: string): Record<string, unknown>[] {
  const value = valueAt(document, path);
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Counts keys and elements at any depth. */
export function countValues(value: unknown): number {
  const open: unknown[] = [value];
  let count = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    for (const inner of Object.values(next)) {
      count += 1;
      open.push(inner);
    }
  }
  return count;
}
