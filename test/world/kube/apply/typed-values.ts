import { ApiError } from '../errors.ts';
import { canonicalJson, clone, equal, isObject, type JsonObject } from '../json.ts';
import { fieldSchema, type ObjectSchema, preservesUnknownFields } from '../schema/schema.ts';
import { FieldSet, formatFieldPath } from './field-set.ts';

/** Values with their schema: atomic fields, keyed lists, and their merge rules. */

const isAtomic = (schema: ObjectSchema | undefined, value: unknown): boolean => {
  if (Array.isArray(value)) return !['set', 'map'].includes(schema?.['x-kubernetes-list-type'] ?? 'atomic');
  return isObject(value) ? schema?.['x-kubernetes-map-type'] === 'atomic' : true;
};

/** The element that names a list item in a path. */
export function listItemKey(schema: ObjectSchema | undefined, item: unknown): string {
  if (schema?.['x-kubernetes-list-type'] !== 'map' || !isObject(item)) return `v:${canonicalJson(item)}`;
  const keys: JsonObject = {};
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const value = item[key] ?? schema.items?.properties?.[key]?.default;
    if (value !== undefined) keys[key] = value;
  }
  return `k:${canonicalJson(keys)}`;
}

/** All fields of a configuration. */
export function fieldSetOf(schema: ObjectSchema, config: JsonObject): FieldSet {
  const set = new FieldSet();
  collect(schema, config, [], set);
  return set;
}

function collect(schema: ObjectSchema | undefined, value: unknown, path: readonly string[], set: FieldSet): void {
  if (isAtomic(schema, value)) {
    set.insert(path);
  } else if (Array.isArray(value)) {
    for (const item of value) {
      const here = [...path, listItemKey(schema, item)];
      collect(schema?.items, item, here, set);
      set.insert(here);
    }
  } else if (isObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const here = [...path, `f:${name}`];
      collect(fieldSchema(schema, name), field, here, set);
      const isEmpty = field === null || (isObject(field) && Object.keys(field).length === 0);
      if (isEmpty || !schema?.properties?.[name]) set.insert(here);
    }
  }
}

export interface TypedComparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The difference between two states. */
export function compareTyped(schema: ObjectSchema, before: JsonObject, after: JsonObject): TypedComparison {
  const result = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  compareFields(schema, before, after, [], result);
  return result;
}

function compareValues(
  schema: ObjectSchema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  result: TypedComparison,
): void {
  const isLeaf =
    [before, after].some((value) => value !== undefined && isAtomic(schema, value)) || bothEmpty(before, after);
  if (!isLeaf && (Array.isArray(before) || Array.isArray(after))) compareItems(schema, before, after, path, result);
  else if (!isLeaf) compareFields(schema, before, after, path, result);
  if (before === undefined) result.added.insert(path);
  else if (after === undefined) result.removed.insert(path);
  else if (isLeaf && !equal(before, after)) result.modified.insert(path);
}

const sizeOf = (value: unknown): number =>
  Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
const bothEmpty = (a: unknown, b: unknown): boolean => sizeOf(a) === 0 && sizeOf(b) === 0;

function compareFields(
  schema: ObjectSchema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  result: TypedComparison,
): void {
  const a = isObject(before) ? before : {};
  const b = isObject(after) ? after : {};
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    compareValues(fieldSchema(schema, name), a[name], b[name], [...path, `f:${name}`], result);
  }
}

function compareItems(
  schema: ObjectSchema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  result: TypedComparison,
): void {
  const index = (list: unknown): Map<string, unknown> =>
    new Map((Array.isArray(list) ? list : []).map((item) => [listItemKey(schema, item), item]));
  const a = index(before);
  const b = index(after);
  for (const element of new Set([...a.keys(), ...b.keys()])) {
    compareValues(schema?.items, a.get(element), b.get(element), [...path, element], result);
  }
}

/** The live value merged with a configuration. */
export function mergeTyped(schema: ObjectSchema | undefined, live: unknown, config: unknown): unknown {
  if (live === undefined || isAtomic(schema, config) || isAtomic(schema, live)) return clone(config);
  if (Array.isArray(config) && Array.isArray(live)) return mergeItems(schema, live, config);
  if (!isObject(config) || !isObject(live)) return clone(config);
  const result: JsonObject = { ...live };
  for (const [name, field] of Object.entries(config))
    result[name] = mergeTyped(fieldSchema(schema, name), live[name], field);
  return result;
}

function mergeItems(schema: ObjectSchema | undefined, live: unknown[], config: unknown[]): unknown[] {
  const given = new Map(config.map((item) => [listItemKey(schema, item), item]));
  const result = live.map((item) => {
    const element = listItemKey(schema, item);
    const over = given.get(element);
    given.delete(element);
    return over === undefined ? item : mergeTyped(schema?.items, item, over);
  });
  return [...result, ...[...given.values()].map(clone)];
}

/**
 * Removes the fields that are in `last` and not in `owned`, i.e. fields that an apply dropped and no other manager
 * owns. A field with any owned descendant stays.
 */
export function removeFields(
  schema: ObjectSchema | undefined,
  value: unknown,
  last: FieldSet,
  owned: FieldSet | undefined,
): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const element = listItemKey(schema, item);
      const below = last.below(element);
      if (!below) return [item];
      const claimed = owned?.below(element);
      return claimed ? [removeFields(schema?.items, item, below, claimed)] : [];
    });
  }
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    const below = last.below(`f:${name}`);
    const claimed = owned?.below(`f:${name}`);
    if (!below) result[name] = field;
    else if (claimed) result[name] = removeFields(fieldSchema(schema, name), field, below, claimed);
  }
  return result;
}

/**
 * A configuration may contain only fields of the schema, and no duplicate list items. Throws the API server's errors.
 */
export function checkTyped(schema: ObjectSchema, config: JsonObject, what: string): void {
  const problems: string[] = [];
  inspectTyped(schema, config, '', true, problems);
  if (problems.length === 0) return;
  const words = problems.length === 1 ? problems[0] : `errors:\n${problems.map((p) => `  ${p}`).join('\n')}`;
  throw new ApiError(500, '', `failed to create typed patch object (${what}): ${words}`);
}

const rootFields = ['apiVersion', 'kind', 'metadata'];

function inspectTyped(
  schema: ObjectSchema | undefined,
  value: unknown,
  path: string,
  isRoot: boolean,
  problems: string[],
): void {
  if (!schema) return;
  if (Array.isArray(value)) {
    const seen = new Set<string>();
    for (const item of value) {
      const element = isAtomic(schema, value) ? undefined : listItemKey(schema, item);
      if (element && seen.has(element))
        problems.push(`${path}: duplicate entries for key ${formatFieldPath([element])}`);
      if (element) seen.add(element);
      inspectTyped(schema.items, item, `${path}${element ? formatFieldPath([element]) : '[]'}`, false, problems);
    }
  } else if (isObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      if (isRoot && rootFields.includes(name)) continue;
      const known = fieldSchema(schema, name);
      const isOpen = preservesUnknownFields(schema) || schema.additionalProperties === true;
      if (!known && !isOpen) problems.push(`${path}.${name}: field not declared in schema`);
      inspectTyped(known, field, `${path}.${name}`, false, problems);
    }
  } else if (value !== null && value !== undefined && hasWrongType(schema, value)) {
    problems.push(
      `${path}: expected ${expected[schema.type ?? ''] ?? schema.type}, got &value.valueUnstructured{Value:${JSON.stringify(value)}}`,
    );
  }
}

const expected: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'numeric (int or float)',
  number: 'numeric (int or float)',
  boolean: 'boolean (true or false)',
  object: 'map',
  array: 'list',
};

function hasWrongType(schema: ObjectSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return typeof value !== schema.type;
    case 'integer':
    case 'number':
      return typeof value !== 'number';
    case 'object':
    case 'array':
      return true;
    default:
      return false;
  }
}
