import { type FieldError, fieldError } from '../errors.ts';
import { equal, isObject } from '../json.ts';
import { child, keyed, type Schema, valueSchema } from '../schema/schema.ts';
import { correlate } from '../schema/validate.ts';
import { type CompiledRule, rulesOn } from './compile.ts';

/** Asks all rules of a schema about an object. `old` is what was stored before; without it only creation is judged. */
export function ruleErrors(schema: Schema, object: unknown, old: unknown): FieldError[] {
  return hasRules(schema) ? walk(schema, object, old, '', true) : [];
}

const known = new WeakMap<Schema, boolean>();

/** True when there is a rule anywhere in the schema. */
export function hasRules(schema: Schema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const inside = [...Object.values(schema.properties ?? {}), schema.items, valueSchema(schema)];
  const found =
    (schema['x-kubernetes-validations']?.length ?? 0) > 0 ||
    inside.some((part) => part !== undefined && hasRules(part));
  known.set(schema, found);
  return found;
}

function walk(schema: Schema, value: unknown, old: unknown, path: string, isResource: boolean): FieldError[] {
  if (value === undefined || value === null || !hasRules(schema)) return [];
  const errors = rulesOn(schema, isResource || schema['x-kubernetes-embedded-resource'] === true).flatMap((rule) =>
    ask(rule, schema, value, old, path),
  );
  if (Array.isArray(value)) {
    const { items } = schema;
    return items
      ? [
          ...errors,
          ...value.flatMap((item, i) => walk(items, item, correlate(schema, item, old), keyed(path, i), false)),
        ]
      : errors;
  }
  if (!isObject(value)) return errors;
  const before = isObject(old) ? old : {};
  const values = valueSchema(schema);
  for (const [name, field] of Object.entries(value)) {
    const declared = schema.properties?.[name];
    if (declared) errors.push(...walk(declared, field, before[name], child(path, name), false));
    else if (values) errors.push(...walk(values, field, before[name], keyed(path, name), false));
  }
  return errors;
}

function ask(compiled: CompiledRule, schema: Schema, value: unknown, old: unknown, path: string): FieldError[] {
  const { rule, problem, usesOldSelf } = compiled;
  if (problem) return [fieldError.invalid(path, schema.type ?? '', `rule compile error: ${problem}`)];
  const hasOld = old !== undefined && old !== null;
  if (usesOldSelf && !hasOld && rule.optionalOldSelf !== true) return [];
  try {
    if (compiled.evaluate(value, old) === true) return [];
  } catch (error) {
    const words = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    const about = rule.message?.trim() || rule.rule.trim();
    return [
      fieldError.invalid(
        path,
        schema.type ?? '',
        `${words.replace(/^No such key/, 'no such key')} evaluating rule: ${about}`,
      ),
    ];
  }
  // What did not change is not held against the writer, except by rules about the change itself.
  if (!usesOldSelf && hasOld && equal(value, old)) return [];
  const message = compiled.message(value, old) ?? (rule.message?.trim() || `failed rule: ${rule.rule.trim()}`);
  return [refusal(compiled, schema, value, path, message)];
}

function refusal({ rule }: CompiledRule, schema: Schema, value: unknown, path: string, message: string): FieldError {
  const below = rule.fieldPath?.replace(/^\./, '').replace(/\['([^']*)'\]/g, '.$1') ?? '';
  const field = below ? child(path, below) : path;
  const isBig = schema.type === 'object' || schema.type === 'array';
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return fieldError.forbidden(field, message);
    case 'FieldValueRequired':
      return fieldError.required(field, message);
    case 'FieldValueDuplicate':
      return isBig ? fieldError.duplicateWithoutValue(field) : fieldError.duplicate(field, value);
    default:
      return isBig ? fieldError.invalidWithoutValue(field, message) : fieldError.invalid(field, value, message);
  }
}
