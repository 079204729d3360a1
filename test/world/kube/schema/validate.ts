import { type FieldError, fieldError } from '../errors.ts';
import { canonical, equal, isObject, typeName } from '../json.ts';
import { matchesFormat } from './formats.ts';
import { toRegExp } from './re2.ts';
import { child, fieldSchema, isIntOrString, keyed, type Schema } from './schema.ts';

/**
 * Checks a value against a schema. With `old` (the stored object) what did not change is not held against the writer:
 * an old sin outside the edit does not block it (validation ratcheting, GA in Kubernetes 1.33).
 */
export function validate(schema: Schema, value: unknown, old: unknown, path = ''): FieldError[] {
  if (old !== undefined && equal(value, old)) return [];
  const errors: FieldError[] = [];
  checkType(schema, value, path, errors);
  if (value === null || value === undefined) return errors;
  if (schema.enum) checkEnum(schema, value, path, errors);
  if (typeof value === 'string') checkText(schema, value, path, errors);
  if (typeof value === 'number') checkNumber(schema, value, path, errors);
  if (Array.isArray(value)) checkList(schema, value, old, path, errors);
  if (isObject(value)) checkObject(schema, value, old, path, errors);
  checkCombinations(schema, value, path, errors);
  return errors;
}

const inBody = (path: string, words: string): string => `${path} in body ${words}`;

function checkType(schema: Schema, value: unknown, path: string, errors: FieldError[]): void {
  const actual = typeName(value);
  if (actual === 'null') {
    if (schema.nullable === true || (!schema.type && !isIntOrString(schema))) return;
  }
  const wanted = isIntOrString(schema) ? ['integer', 'string'] : schema.type ? [schema.type] : [];
  if (wanted.length === 0 || wanted.includes(actual as never)) return;
  if (actual === 'integer' && wanted.includes('number')) return;
  errors.push(fieldError.typeInvalid(path, actual, inBody(path, `must be of type ${wanted.join(',')}: "${actual}"`)));
}

function checkEnum(schema: Schema, value: unknown, path: string, errors: FieldError[]): void {
  if (schema.enum?.some((allowed) => equal(allowed, value))) return;
  const allowed = (schema.enum ?? []).map((v) => (typeof v === 'string' ? v : canonical(v)));
  errors.push(fieldError.unsupported(path, value, allowed));
}

function checkText(schema: Schema, value: string, path: string, errors: FieldError[]): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    errors.push(fieldError.tooLong(path, schema.maxLength));
  if (schema.minLength !== undefined && length < schema.minLength) {
    errors.push(fieldError.invalid(path, value, inBody(path, `should be at least ${schema.minLength} chars long`)));
  }
  if (schema.pattern && !toRegExp(schema.pattern).test(value)) {
    errors.push(fieldError.invalid(path, value, inBody(path, `should match '${schema.pattern}'`)));
  }
  if (schema.format && !matchesFormat(schema.format, value)) {
    errors.push(
      fieldError.invalid(path, value, inBody(path, `must be of type ${schema.format}: ${JSON.stringify(value)}`)),
    );
  }
}

function checkNumber(schema: Schema, value: number, path: string, errors: FieldError[]): void {
  const refuse = (words: string) => errors.push(fieldError.invalid(path, value, inBody(path, words)));
  const { minimum, maximum, multipleOf } = schema;
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum && value <= minimum) refuse(`should be greater than ${minimum}`);
    else if (value < minimum) refuse(`should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum && value >= maximum) refuse(`should be less than ${maximum}`);
    else if (value > maximum) refuse(`should be less than or equal to ${maximum}`);
  }
  if (multipleOf && value % multipleOf !== 0) refuse(`should be a multiple of ${multipleOf}`);
}

function checkList(schema: Schema, value: unknown[], old: unknown, path: string, errors: FieldError[]): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    errors.push(fieldError.tooMany(path, value.length, schema.maxItems));
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    errors.push(fieldError.invalid(path, value.length, inBody(path, `should have at least ${schema.minItems} items`)));
  }
  const { items } = schema;
  if (!items) return;
  value.forEach((item, i) => {
    errors.push(...validate(items, item, correlate(schema, item, old), keyed(path, i)));
  });
}

/** The item of the old list that is the same thing: only lists of type map know. */
export function correlate(schema: Schema, item: unknown, old: unknown): unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || !keys || !Array.isArray(old) || !isObject(item)) return undefined;
  return old.find((other) => isObject(other) && keys.every((key) => equal(other[key], item[key])));
}

function checkObject(
  schema: Schema,
  value: Record<string, unknown>,
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  const size = Object.keys(value).length;
  if (schema.maxProperties !== undefined && size > schema.maxProperties) {
    errors.push(fieldError.tooMany(path, size, schema.maxProperties));
  }
  if (schema.minProperties !== undefined && size < schema.minProperties) {
    errors.push(
      fieldError.invalid(path, size, inBody(path, `should have at least ${schema.minProperties} properties`)),
    );
  }
  for (const name of schema.required ?? []) {
    if (value[name] === undefined) errors.push(fieldError.required(child(path, name)));
  }
  for (const [name, field] of Object.entries(value)) {
    const known = fieldSchema(schema, name);
    if (known) errors.push(...validate(known, field, isObject(old) ? old[name] : undefined, child(path, name)));
  }
}

const fits = (schema: Schema, value: unknown, path: string): boolean =>
  validate(schema, value, undefined, path).length === 0;

function checkCombinations(schema: Schema, value: unknown, path: string, errors: FieldError[]): void {
  for (const part of schema.allOf ?? []) errors.push(...validate(part, value, undefined, path));
  const refuse = (words: string) => errors.push(fieldError.invalid('', '', `"${path}" ${words}`));
  if (schema.anyOf && !schema.anyOf.some((part) => fits(part, value, path))) {
    refuse('must validate at least one schema (anyOf)');
  }
  if (schema.oneOf) {
    const count = schema.oneOf.filter((part) => fits(part, value, path)).length;
    const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
    if (count !== 1) refuse(`must validate one and only one schema (oneOf). ${found}`);
  }
  if (schema.not && fits(schema.not, value, path)) refuse('must not validate the schema (not)');
}

/** Lists of type `set` and `map` hold nothing twice. */
export function validateListTypes(schema: Schema, value: unknown, path = ''): FieldError[] {
  if (Array.isArray(value)) {
    const inside = value.flatMap((item, i) =>
      schema.items ? validateListTypes(schema.items, item, keyed(path, i)) : [],
    );
    return [...duplicates(schema, value, path), ...inside];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const known = fieldSchema(schema, name);
    const here = schema.properties?.[name] ? child(path, name) : keyed(path, name);
    return known ? validateListTypes(known, field, here) : [];
  });
}

function duplicates(schema: Schema, value: unknown[], path: string): FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const seen = new Map<string, number>();
  return value.flatMap((item, i) => {
    const identity =
      type === 'set' || !isObject(item)
        ? item
        : Object.fromEntries(keys.map((key) => [key, item[key] ?? schema.items?.properties?.[key]?.default]));
    const mark = canonical(identity);
    const count = (seen.get(mark) ?? 0) + 1;
    seen.set(mark, count);
    return count === 2 ? [fieldError.duplicate(keyed(path, i), identity)] : [];
  });
}
