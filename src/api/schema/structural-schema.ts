import { z } from 'zod';

/** A node of an OpenAPI v3 schema in the form that a CustomResourceDefinition accepts. */
export type StructuralSchema = Readonly<Record<string, unknown>>;

type JsonSchema = Record<string, unknown>;

/**
 * The keywords that the provider's structural schemas may use, in the order of output. Any other keyword is a
 * programming error.
 */
const allowedKeywords = [
  'description',
  'type',
  'format',
  'nullable',
  'enum',
  'default',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'pattern',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
  'required',
  'properties',
  'additionalProperties',
  'items',
] as const;

/**
 * The schema that the API server enforces, built from the schema that the code parses with: one source for both. Throws
 * an Error with the path when the zod schema contains something that a structural schema cannot express, such as unions
 * of objects or transforms without an input type. Custom checks are not visible and are left out.
 */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  return toStructuralNode(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as JsonSchema, '');
}

function toStructuralNode(schema: JsonSchema, path: string): JsonSchema {
  const rest = withoutUnsupportedKeywords(schema);
  const unknown = Object.keys(rest).filter((keyword) => !(allowedKeywords as readonly string[]).includes(keyword));
  if (unknown.length > 0) throw new Error(`${path || 'schema'}: ${unknown.join(', ')} is not allowed in a CRD`);
  if (rest['type'] === undefined && !rest['x-kubernetes-int-or-string']) {
    throw new Error(`${path || 'schema'}: a field of a CRD needs a type`);
  }
  const bounded = rest['type'] === 'integer' ? withoutSafeIntegerBounds(rest) : rest;
  const nested = withStructuralChildren(bounded, path);
  return Object.fromEntries(
    allowedKeywords.filter((keyword) => nested[keyword] !== undefined).map((keyword) => [keyword, nested[keyword]]),
  );
}

/**
 * Drops keywords that zod emits and a CRD must not contain: closedness is pruning, and free-form objects have no
 * properties.
 */
function withoutUnsupportedKeywords({ $schema: _dialect, ...schema }: JsonSchema): JsonSchema {
  const { additionalProperties, propertyNames: _names, ...rest } = schema;
  if (rest['x-kubernetes-preserve-unknown-fields'] === true) {
    const { properties: _properties, ...free } = rest;
    return free;
  }
  return typeof additionalProperties === 'object' ? { ...rest, additionalProperties } : rest;
}

/** zod bounds every integer by the range of a JavaScript number; a CRD uses `int64` instead. */
function withoutSafeIntegerBounds({ minimum, maximum, ...rest }: JsonSchema): JsonSchema {
  const kept = (bound: unknown) => (Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER ? undefined : bound);
  const format = rest['format'] ?? (Number(maximum) > 2 ** 31 - 1 ? 'int64' : undefined);
  return { ...rest, format, minimum: kept(minimum), maximum: kept(maximum) };
}

function withStructuralChildren(schema: JsonSchema, path: string): JsonSchema {
  const { properties, additionalProperties, items, pattern } = schema;
  return {
    ...schema,
    // Outside of JavaScript a slash needs no escape.
    ...(typeof pattern === 'string' && { pattern: pattern.replaceAll('\\/', '/') }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [
          name,
          toStructuralNode(property as JsonSchema, `${path}.${name}`),
        ]),
      ),
    }),
    ...(isSchema(additionalProperties) && {
      additionalProperties: toStructuralNode(additionalProperties, `${path}.*`),
    }),
    ...(isSchema(items) && { items: toStructuralNode(items, `${path}[]`) }),
  };
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;
