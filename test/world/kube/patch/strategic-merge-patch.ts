import { clone, equal, isObject, type JsonObject } from '../json.ts';
import { fieldSchema, type ObjectSchema } from '../schema/schema.ts';

/**
 * A strategic merge patch: like a merge patch, but lists with a merge key in their schema are merged by it, and
 * directives (`$patch`, `$deleteFromPrimitiveList/…`, `$retainKeys`) are applied.
 */
export function applyStrategicMergePatch(
  schema: ObjectSchema | undefined,
  target: JsonObject,
  patch: JsonObject,
): JsonObject {
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  const result: JsonObject = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) applyDirective(result, key, value);
    else if (value === null) delete result[key];
    else result[key] = mergeField(fieldSchema(schema, key), result[key], value);
  }
  return result;
}

function applyDirective(result: JsonObject, directive: string, value: unknown): void {
  const list = /^\$deleteFromPrimitiveList\/(.+)$/.exec(directive)?.[1];
  if (list && Array.isArray(result[list]) && Array.isArray(value)) {
    result[list] = result[list].filter((item) => !value.some((gone) => equal(gone, item)));
  }
  if (directive === '$retainKeys' && Array.isArray(value)) {
    for (const key of Object.keys(result)) if (!value.includes(key)) delete result[key];
  }
}

function mergeField(schema: ObjectSchema | undefined, old: unknown, value: unknown): unknown {
  if (Array.isArray(value)) return mergeList(schema, Array.isArray(old) ? old : [], value);
  if (!isObject(value)) return value;
  if (value['$patch'] === 'delete') return undefined;
  return applyStrategicMergePatch(schema, isObject(old) ? old : {}, value);
}

function mergeList(schema: ObjectSchema | undefined, old: unknown[], patch: unknown[]): unknown[] {
  const key = schema?.['x-kubernetes-patch-merge-key'];
  if (schema?.['x-kubernetes-patch-strategy'] !== 'merge') return patch.map(withoutDirectivesIn);
  if (!key) return [...old, ...patch.filter((item) => !old.some((known) => equal(known, item)))];
  if (patch.some((item) => isObject(item) && item['$patch'] === 'replace' && Object.keys(item).length === 1)) {
    return patch.filter((item) => !(isObject(item) && item['$patch'] === 'replace')).map(withoutDirectivesIn);
  }
  const result = clone(old);
  for (const item of patch) {
    if (!isObject(item)) continue;
    const index = result.findIndex((known) => isObject(known) && equal(known[key], item[key]));
    const known = result[index];
    if (item['$patch'] === 'delete') {
      if (index >= 0) result.splice(index, 1);
    } else if (isObject(known)) {
      result[index] = applyStrategicMergePatch(schema.items, known, item);
    } else {
      result.push(applyStrategicMergePatch(schema.items, {}, item));
    }
  }
  return result;
}

const withoutDirectivesIn = (value: unknown): unknown => (isObject(value) ? withoutDirectives(value) : value);

const withoutDirectives = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('$')));
