/** Helpers for structural schemas. Every schema is a plain object that the API server accepts. */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

export const stringSchema = (extra: OpenApiSchema = {}): OpenApiSchema => ({ type: 'string', ...extra });
export const booleanSchema: OpenApiSchema = { type: 'boolean' };
export const arraySchema = (items: OpenApiSchema, extra: OpenApiSchema = {}): OpenApiSchema => ({
  type: 'array',
  items,
  ...extra,
});
/** Adds a description for `kubectl explain`. */
export const withDescription = (description: string, schema: OpenApiSchema): OpenApiSchema => ({
  description,
  ...schema,
});
export const enumSchema = (...values: string[]): OpenApiSchema => stringSchema({ enum: values });

/** Properties whose name ends in `!` are required. */
export function objectSchema(
  properties: Readonly<Record<string, OpenApiSchema>>,
  extra: OpenApiSchema = {},
): OpenApiSchema {
  const names = Object.keys(properties);
  const required = names.filter((name) => name.endsWith('!')).map((name) => name.slice(0, -1));
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name.replace(/!$/, ''), schema]),
    ),
    ...(required.length > 0 && { required }),
    ...extra,
  };
}

/** CEL rules, each with the message for a violation. */
export const withCelRules = (...pairs: readonly (readonly [rule: string, message: string])[]): OpenApiSchema => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});

/** A reference by name alone. An empty name is accepted, as in the core API. */
export const localReferenceSchema: OpenApiSchema = objectSchema(
  { name: stringSchema({ default: '' }) },
  { 'x-kubernetes-map-type': 'atomic' },
);
/** A reference by namespace and name. */
export const referenceSchema = (extra: OpenApiSchema = {}): OpenApiSchema =>
  objectSchema({ 'name!': stringSchema(), 'namespace!': stringSchema() }, extra);

const dnsLabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
/** A DNS subdomain. */
export const dnsSubdomainPattern = `^${dnsLabelPattern}(\\.${dnsLabelPattern})*$`;

/** The fields that all openMCP status objects share. */
export const statusSchema = (
  properties: Readonly<Record<string, OpenApiSchema>>,
  extra: OpenApiSchema = {},
): OpenApiSchema =>
  objectSchema(
    {
      'observedGeneration!': { type: 'integer', format: 'int64' },
      'phase!': stringSchema(),
      conditions: arraySchema(conditionSchema, {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
      ...properties,
    },
    extra,
  );

/** `metav1.Condition`. */
const conditionSchema: OpenApiSchema = objectSchema({
  'type!': stringSchema({
    maxLength: 316,
    pattern: `^(${dnsLabelPattern}(\\.${dnsLabelPattern})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
  }),
  'status!': enumSchema('True', 'False', 'Unknown'),
  'reason!': stringSchema({ minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
  'message!': stringSchema({ maxLength: 32768 }),
  'lastTransitionTime!': stringSchema({ format: 'date-time' }),
  observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
});
