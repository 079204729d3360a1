/** A few words to write structural schemas with. Everything is a plain object that the API server understands. */
export type Schema = Readonly<Record<string, unknown>>;

export const text = (extra: Schema = {}): Schema => ({ type: 'string', ...extra });
export const flag: Schema = { type: 'boolean' };
export const list = (items: Schema, extra: Schema = {}): Schema => ({ type: 'array', items, ...extra });
/** With what it means, for `kubectl explain`. */
export const described = (description: string, schema: Schema): Schema => ({ description, ...schema });
export const oneOf = (...values: string[]): Schema => text({ enum: values });

/** Properties whose name ends in `!` are required. */
export function object(properties: Readonly<Record<string, Schema>>, extra: Schema = {}): Schema {
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

/** CEL rules with what is said when they do not hold. */
export const rules = (...pairs: readonly (readonly [rule: string, message: string])[]): Schema => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});

/** A reference by name alone. An empty name is let through, as the core API does. */
export const localReference: Schema = object({ name: text({ default: '' }) }, { 'x-kubernetes-map-type': 'atomic' });
/** A reference by namespace and name. */
export const reference = (extra: Schema = {}): Schema => object({ 'name!': text(), 'namespace!': text() }, extra);

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
/** A DNS subdomain. */
export const subdomain = `^${label}(\\.${label})*$`;

/** What all status objects of openMCP begin with. */
export const status = (properties: Readonly<Record<string, Schema>>, extra: Schema = {}): Schema =>
  object(
    {
      'observedGeneration!': { type: 'integer', format: 'int64' },
      'phase!': text(),
      conditions: list(condition, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }),
      ...properties,
    },
    extra,
  );

/** `metav1.Condition`. */
const condition: Schema = object({
  'type!': text({
    maxLength: 316,
    pattern: `^(${label}(\\.${label})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
  }),
  'status!': oneOf('True', 'False', 'Unknown'),
  'reason!': text({ minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
  'message!': text({ maxLength: 32768 }),
  'lastTransitionTime!': text({ format: 'date-time' }),
  observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
});
