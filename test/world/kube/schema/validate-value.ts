import { type FieldError, fieldErrors } from '../errors.ts';
import { canonicalJson, equal, isObject, typeName } from '../json.ts';
import { matchesFormat } from './formats.ts';
import { fromRe2 } from './re2.ts';
import { childPath, fieldSchema, indexedPath, isIntOrString, type ObjectSchema } from './schema.ts';

/**
 * Validates a value against a schema. With `old` (the stored object) errors in unchanged values are ignored: an
 * existing error outside of the edit does not block it (validation ratcheting, GA in Kubernetes 1.33).
 */
export function validateValue(schema: ObjectSchema, value: unknown, old: unknown, path = ''): FieldError[] {
  if (old !== undefined && equal(value, old)) return [];
  const errors: FieldError[] = [];
  checkType(schema, value, path, errors);
  if (value === null || value === undefined) return errors;
  if (schema.enum) checkEnum(schema, value, path, errors);
  if (typeof value === 'string') checkText(schema, value, path, errors);
  if (typeof value === 'number') checkNumber(schema, value, path, errors);
  if (Array.isArray(value)) checkList(schema, value, old, path, errors);
  if (isObject(value)) checkObject(schema, value, old, path, errors);
  checkAnyOf(schema, value, path, errors);
  return errors;
}

const inBodyMessage = (path: string, words: string): string => `${path} in body ${words}`;

function checkType(schema: ObjectSchema, value: unknown, path: string, errors: FieldError[]): void {
  const actual = typeName(value);
  if (actual === 'null') {
    if (schema.nullable === true || (!schema.type && !isIntOrString(schema))) return;
  }
  const wanted = isIntOrString(schema) ? ['integer', 'string'] : schema.type ? [schema.type] : [];
  if (wanted.length === 0 || wanted.includes(actual as never)) return;
  if (actual === 'integer' && wanted.includes('number')) return;
  errors.push(
    fieldErrors.typeInvalid(path, actual, inBodyMessage(path, `must be of type ${wanted.join(',')}: "${actual}"`)),
  );
}

function checkEnum(schema: ObjectSchema, value: unknown, path: string, errors: FieldError[]): void {
  if (schema.enum?.some((allowed) => equal(allowed, value))) return;
  const allowed = (schema.enum ?? []).map((v) => (typeof v === 'string' ? v : canonicalJson(v)));
  errors.push(fieldErrors.unsupported(path, value, allowed));
}

function checkText(schema: ObjectSchema, value: string, path: string, errors: FieldError[]): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    errors.push(fieldErrors.tooLong(path, schema.maxLength));
  if (schema.minLength !== undefined && length < schema.minLength) {
    errors.push(
      fieldErrors.invalid(path, value, inBodyMessage(path, `should be at least ${schema.minLength} chars long`)),
    );
  }
  if (schema.pattern && !fromRe2(schema.pattern).test(value)) {
    errors.push(fieldErrors.invalid(path, value, inBodyMessage(path, `should match '${schema.pattern}'`)));
  }
  if (schema.format && !matchesFormat(schema.format, value)) {
    errors.push(
      fieldErrors.invalid(
        path,
        value,
        inBodyMessage(path, `must be of type ${schema.format}: ${JSON.stringify(value)}`),
      ),
    );
  }
}

function checkNumber(schema: ObjectSchema, value: number, path: string, errors: FieldError[]): void {
  const refuse = (words: string) => errors.push(fieldErrors.invalid(path, value, inBodyMessage(path, words)));
  const { minimum, maximum } = schema;
  if (minimum !== undefined && value < minimum) refuse(`should be greater than or equal to ${minimum}`);
  if (maximum !== undefined && value > maximum) refuse(`should be less than or equal to ${maximum}`);
}

function checkList(schema: ObjectSchema, value: unknown[], old: unknown, path: string, errors: FieldError[]): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    errors.push(fieldErrors.tooMany(path, value.length, schema.maxItems));
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    errors.push(
      fieldErrors.invalid(path, value.length, inBodyMessage(path, `should have at least ${schema.minItems} items`)),
    );
  }
  const { items } = schema;
  if (!items) return;
  value.forEach((item, i) => {
    errors.push(...validateValue(items, item, correlateListItem(schema, item, old), indexedPath(path, i)));
  });
}

/** The corresponding item of the old list; only lists of type map have one. */
export function correlateListItem(schema: ObjectSchema, item: unknown, old: unknown): unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || !keys || !Array.isArray(old) || !isObject(item)) return undefined;
  return old.find((other) => isObject(other) && keys.every((key) => equal(other[key], item[key])));
}

function checkObject(
  schema: ObjectSchema,
  value: Record<string, unknown>,
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  const size = Object.keys(value).length;
  if (schema.maxProperties !== undefined && size > schema.maxProperties) {
    errors.push(fieldErrors.tooMany(path, size, schema.maxProperties));
  }
  for (const name of schema.required ?? []) {
    if (value[name] === undefined) errors.push(fieldErrors.required(childPath(path, name)));
  }
  for (const [name, field] of Object.entries(value)) {
    const known = fieldSchema(schema, name);
    if (known)
      errors.push(...validateValue(known, field, isObject(old) ? old[name] : undefined, childPath(path, name)));
  }
}

/** `anyOf` is only used for int-or-string, whose type is checked before. */
function checkAnyOf(schema: ObjectSchema, value: unknown, path: string, errors: FieldError[]): void {
  const matches = (part: ObjectSchema): boolean => validateValue(part, value, undefined, path).length === 0;
  if (!schema.anyOf || schema.anyOf.some(matches)) return;
  errors.push(fieldErrors.invalid('', '', `"${path}" must validate at least one schema (anyOf)`));
}

/** Lists of type `set` and `map` have no duplicates. */
export function validateListTypes(schema: ObjectSchema, value: unknown, path = ''): FieldError[] {
  if (Array.isArray(value)) {
    const inside = value.flatMap((item, i) =>
      schema.items ? validateListTypes(schema.items, item, indexedPath(path, i)) : [],
    );
    return [...duplicates(schema, value, path), ...inside];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const known = fieldSchema(schema, name);
    const here = schema.properties?.[name] ? childPath(path, name) : indexedPath(path, name);
    return known ? validateListTypes(known, field, here) : [];
  });
}

function duplicates(schema: ObjectSchema, value: unknown[], path: string): FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Map<string, number>();
  return value.flatMap((item, i) => {
    const identity =
      type === 'set' || !isObject(item)
        ? item
        : Object.fromEntries(keys.map((key) => [key, item[key] ?? schema.items?.properties?.[key]?.default]));
    const mark = canonicalJson(identity);
    const count = (seen.get(mark) ?? 0) + 1;
    seen.set(mark, count);
    return count === 2 ? [fieldErrors.duplicate(indexedPath(path, i), identity)] : [];
  });
}
