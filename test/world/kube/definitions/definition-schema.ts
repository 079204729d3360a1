import { compiledRulesOf } from '../cel/compile.ts';
import { estimateCost, largestItemCount, ruleCostLimit } from '../cel/estimate-cost.ts';
import { type FieldError, fieldErrors } from '../errors.ts';
import { canonicalJson } from '../json.ts';
import { knownFormats } from '../schema/formats.ts';
import { indexedPath, type ObjectSchema, type ValidationRule, valueSchema } from '../schema/schema.ts';
import { forbiddenSchemaFieldErrors, structuralErrors } from '../schema/structural.ts';
import { validateValue } from '../schema/validate-value.ts';

/** All errors of a definition's schema. Rules are checked only when the rest is valid. */
export function definitionSchemaErrors(schema: ObjectSchema, path: string): FieldError[] {
  const words = forbiddenSchemaFieldErrors(schema, path);
  const errors = [...words, ...(words.length > 0 ? [] : structuralErrors(schema, path))];
  if (errors.length === 0) errors.push(...defaultErrors(schema, path));
  errors.push(...ruleErrorsOf(schema, path));
  return errors.length > 0 ? errors : compileErrors(schema, path, { isResource: true, isLoose: undefined, count: 1 });
}

/** Calls `look` on each nested schema, with its path in the definition. */
function forEachSchema(schema: ObjectSchema, path: string, look: (part: ObjectSchema, path: string) => void): void {
  look(schema, path);
  for (const [name, part] of Object.entries(schema.properties ?? {}))
    forEachSchema(part, indexedPath(`${path}.properties`, name), look);
  if (schema.items) forEachSchema(schema.items, `${path}.items`, look);
  const values = valueSchema(schema);
  if (values) forEachSchema(values, `${path}.additionalProperties`, look);
}

/** An unknown format is only a warning. */
export function unknownFormats(schema: ObjectSchema): string[] {
  const found: string[] = [];
  forEachSchema(schema, '', ({ format }) => {
    if (format && !knownFormats.has(format)) found.push(format);
  });
  return [...new Set(found)];
}

function defaultErrors(schema: ObjectSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  forEachSchema(schema, path, (part, here) => {
    if (part.default === undefined) return;
    for (const error of validateValue(part, part.default, undefined, '')) {
      errors.push({ ...error, field: error.field ? `${here}.default.${error.field}` : `${here}.default` });
    }
  });
  return errors;
}

const reasons = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate'];
const hasLineBreak = (text: string): boolean => /[\r\n]/.test(text.trim());

function ruleErrorsOf(schema: ObjectSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  forEachSchema(schema, path, (part, here) => {
    part['x-kubernetes-validations']?.forEach((rule, i) => {
      errors.push(...ruleFieldErrors(rule, part, indexedPath(`${here}.x-kubernetes-validations`, i)));
    });
  });
  return errors;
}

function ruleFieldErrors(rule: ValidationRule, schema: ObjectSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { message = '', fieldPath } = rule;
  if (!rule.rule?.trim()) errors.push(fieldErrors.required(`${path}.rule`, 'rule is not specified'));
  else if (message && !message.trim()) {
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must be non-empty if specified'));
  } else if (hasLineBreak(message)) {
    errors.push(fieldErrors.invalid(`${path}.message`, message, 'must not contain line breaks'));
  } else if (hasLineBreak(rule.rule) && !message) {
    errors.push(fieldErrors.required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  }
  if (rule.reason !== undefined && !reasons.includes(rule.reason)) {
    errors.push(fieldErrors.unsupported(`${path}.reason`, rule.reason, [...reasons].sort()));
  }
  if (fieldPath !== undefined && !schemaHasPath(schema, fieldPath)) {
    errors.push(fieldErrors.invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
  }
  return errors;
}

/** Whether a path like `.a.b` or `.a['b']` names a field of the schema. */
export function schemaHasPath(schema: ObjectSchema, path: string): boolean {
  return schemaAt(schema, path) !== undefined;
}

/** The schema at a simple path. */
export function schemaAt(schema: ObjectSchema, path: string): ObjectSchema | undefined {
  const steps = [...path.matchAll(/\.([A-Za-z_][\w-]*)|\['([^']+)'\]/g)];
  if (steps.length === 0 || steps.map(([whole]) => whole).join('') !== path) return undefined;
  let here: ObjectSchema | undefined = schema;
  for (const [, field, key] of steps) {
    const name = field ?? key ?? '';
    here = here?.properties?.[name] ?? (here && valueSchema(here));
  }
  return here;
}

interface SchemaPosition {
  readonly isResource: boolean;
  /** Path of the enclosing list or map whose items cannot be correlated between two versions of the object. */
  readonly isLoose: string | undefined;
  /** The maximum number of occurrences in one object. */
  readonly count: number;
}

function compileErrors(schema: ObjectSchema, path: string, place: SchemaPosition): FieldError[] {
  const errors = compiledRulesOf(schema, place.isResource).flatMap((compiled, i) => {
    const here = indexedPath(`${path}.x-kubernetes-validations`, i);
    const { rule, problem, messageProblem, usesOldSelf } = compiled;
    if (problem) return [fieldErrors.invalidText(`${here}.rule`, canonicalJson(rule), problem)];
    if (messageProblem)
      return [fieldErrors.invalidText(`${here}.messageExpression`, canonicalJson(rule), messageProblem)];
    const cost = estimateCost(compiled.ast, schema, place.count);
    if (cost > ruleCostLimit) return [fieldErrors.forbidden(`${here}.rule`, tooExpensive(cost))];
    if (usesOldSelf && place.isLoose) {
      const text = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.isLoose}`;
      return [fieldErrors.invalid(`${here}.rule`, rule.rule, text)];
    }
    if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
      const text = 'may not be set if oldSelf is not used in rule';
      return [fieldErrors.invalid(`${here}.optionalOldSelf`, rule.optionalOldSelf, text)];
    }
    return [];
  });
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const isLoose = schema['x-kubernetes-map-type'] === 'atomic' ? path : undefined;
    const below = { ...place, isResource: false, isLoose: place.isLoose ?? isLoose };
    errors.push(...compileErrors(part, indexedPath(`${path}.properties`, name), below));
  }
  if (schema.items) {
    const isLoose = schema['x-kubernetes-list-type'] === 'map' ? undefined : `${path}.items`;
    const below = {
      isResource: false,
      isLoose: place.isLoose ?? isLoose,
      count: place.count * largestItemCount(schema),
    };
    errors.push(...compileErrors(schema.items, `${path}.items`, below));
  }
  const values = valueSchema(schema);
  if (values) {
    const isLoose = schema['x-kubernetes-map-type'] === 'atomic' ? path : undefined;
    const below = {
      isResource: false,
      isLoose: place.isLoose ?? isLoose,
      count: place.count * largestItemCount(schema),
    };
    errors.push(...compileErrors(values, `${path}.additionalProperties`, below));
  }
  return errors;
}

const tooExpensive = (cost: number): string => {
  const factor = cost / ruleCostLimit;
  const times = factor > 100 ? 'more than 100x' : `${factor.toFixed(1)}x`;
  return `estimated rule cost exceeds budget by factor of ${times} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
};
