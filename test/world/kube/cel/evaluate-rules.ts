import { type FieldError, fieldErrors } from '../errors.ts';
import { equal, isObject } from '../json.ts';
import { childPath, indexedPath, type ObjectSchema, valueSchema } from '../schema/schema.ts';
import { correlateListItem } from '../schema/validate-value.ts';
import { type CompiledRule, compiledRulesOf } from './compile.ts';

/**
 * Evaluates all rules of a schema for an object. `old` is the stored object; without it only rules for creation are
 * evaluated.
 */
export function evaluateRules(schema: ObjectSchema, object: unknown, old: unknown): FieldError[] {
  return hasRules(schema) ? evaluateNode(schema, object, old, '', true) : [];
}

const hasRulesCache = new WeakMap<ObjectSchema, boolean>();

/** Whether the schema contains a rule at any level. */
export function hasRules(schema: ObjectSchema): boolean {
  const before = hasRulesCache.get(schema);
  if (before !== undefined) return before;
  const inside = [...Object.values(schema.properties ?? {}), schema.items, valueSchema(schema)];
  const found =
    (schema['x-kubernetes-validations']?.length ?? 0) > 0 ||
    inside.some((part) => part !== undefined && hasRules(part));
  hasRulesCache.set(schema, found);
  return found;
}

function evaluateNode(
  schema: ObjectSchema,
  value: unknown,
  old: unknown,
  path: string,
  isResource: boolean,
): FieldError[] {
  if (value === undefined || value === null || !hasRules(schema)) return [];
  const errors = compiledRulesOf(schema, isResource).flatMap((rule) => evaluateRule(rule, schema, value, old, path));
  if (Array.isArray(value)) {
    const { items } = schema;
    return items
      ? [
          ...errors,
          ...value.flatMap((item, i) =>
            evaluateNode(items, item, correlateListItem(schema, item, old), indexedPath(path, i), false),
          ),
        ]
      : errors;
  }
  if (!isObject(value)) return errors;
  const before = isObject(old) ? old : {};
  const values = valueSchema(schema);
  for (const [name, field] of Object.entries(value)) {
    const declared = schema.properties?.[name];
    if (declared) errors.push(...evaluateNode(declared, field, before[name], childPath(path, name), false));
    else if (values) errors.push(...evaluateNode(values, field, before[name], indexedPath(path, name), false));
  }
  return errors;
}

function evaluateRule(
  compiled: CompiledRule,
  schema: ObjectSchema,
  value: unknown,
  old: unknown,
  path: string,
): FieldError[] {
  const { rule, problem, usesOldSelf } = compiled;
  if (problem) return [fieldErrors.invalid(path, schema.type ?? '', `rule compile error: ${problem}`)];
  const hasOld = old !== undefined && old !== null;
  if (usesOldSelf && !hasOld && rule.optionalOldSelf !== true) return [];
  try {
    if (compiled.evaluate(value, old) === true) return [];
  } catch (error) {
    const words = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    const about = rule.message?.trim() || rule.rule.trim();
    return [
      fieldErrors.invalid(
        path,
        schema.type ?? '',
        `${words.replace(/^No such key/, 'no such key')} evaluating rule: ${about}`,
      ),
    ];
  }
  // Unchanged values are not validated again, except by transition rules.
  if (!usesOldSelf && hasOld && equal(value, old)) return [];
  const message = compiled.message(value, old) ?? (rule.message?.trim() || `failed rule: ${rule.rule.trim()}`);
  return [ruleError(compiled, schema, value, path, message)];
}

function ruleError(
  { rule }: CompiledRule,
  schema: ObjectSchema,
  value: unknown,
  path: string,
  message: string,
): FieldError {
  const below = rule.fieldPath?.replace(/^\./, '').replace(/\['([^']*)'\]/g, '.$1') ?? '';
  const field = below ? childPath(path, below) : path;
  const isBig = schema.type === 'object' || schema.type === 'array';
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return fieldErrors.forbidden(field, message);
    case 'FieldValueRequired':
      return fieldErrors.required(field, message);
    case 'FieldValueDuplicate':
      return isBig ? fieldErrors.duplicateWithoutValue(field) : fieldErrors.duplicate(field, value);
    default:
      return isBig ? fieldErrors.invalidWithoutValue(field, message) : fieldErrors.invalid(field, value, message);
  }
}
