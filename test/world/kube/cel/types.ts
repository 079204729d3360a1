import type { Environment } from '@marcbachmann/cel-js';
import { equal, isObject, type JsonObject } from '../json.ts';
import { isIntOrString, type ObjectSchema, valueSchema } from '../schema/schema.ts';

/** The CEL representation of a schema's values: the name of their type, and the conversion from JSON. */
export interface CelType {
  readonly name: string;
  toValue(json: unknown): unknown;
}

const scalarType = (name: string): CelType => ({ name, toValue: (json) => json });
const dyn: CelType = { name: 'dyn', toValue: toDynamic };

/** Declares the type of a schema and of its nested schemas in an environment. Undefined: hidden from CEL. */
export function declareType(environment: Environment, schema: ObjectSchema, isResource: boolean): CelType | undefined {
  let count = 0;
  const declare = (part: ObjectSchema, resource: boolean): CelType | undefined => {
    if (isIntOrString(part)) return dyn;
    switch (part.type) {
      case 'string':
        return textType(part.format);
      case 'integer':
        return { name: 'int', toValue: (json) => (typeof json === 'number' ? BigInt(json) : json) };
      case 'number':
        return scalarType('double');
      case 'boolean':
        return scalarType('bool');
      case 'array':
        return listType(part.items && declare(part.items, false));
      case 'object':
        return objectType(part, resource);
      default:
        return undefined;
    }
  };
  const objectType = (part: ObjectSchema, resource: boolean): CelType | undefined => {
    const values = valueSchema(part);
    if (values) return mapType(declare(values, false));
    const fields = new Map<string, { readonly key: string; readonly type: CelType }>();
    const properties = resource ? { ...part.properties, ...resourceFields } : (part.properties ?? {});
    for (const [key, field] of Object.entries(properties)) {
      const type = declare(field, false);
      const identifier = escapeField(key);
      if (type && identifier) fields.set(identifier, { key, type });
    }
    count += 1;
    return registerObjectType(environment, `Object${count}`, fields);
  };
  return declare(schema, isResource);
}

/** Rules see only the name of metadata. */
const resourceFields: Readonly<Record<string, ObjectSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', properties: { name: { type: 'string' }, generateName: { type: 'string' } } },
};

/** Durations and bytes stay texts: no rule here reads one. */
const textType = (format: string | undefined): CelType =>
  format === 'date-time'
    ? { name: 'google.protobuf.Timestamp', toValue: (json) => (typeof json === 'string' ? new Date(json) : json) }
    : scalarType('string');

const listType = (items: CelType | undefined): CelType | undefined =>
  items && {
    name: `list<${items.name}>`,
    toValue: (json) => (Array.isArray(json) ? json.map((item) => items.toValue(item)) : json),
  };

const mapType = (values: CelType | undefined): CelType | undefined =>
  values && {
    name: `map<string, ${values.name}>`,
    toValue: (json) =>
      isObject(json) ? new Map(Object.entries(json).map(([key, value]) => [key, values.toValue(value)])) : json,
  };

/** The JSON of an object in an expression: objects are equal when their JSON is. */
const sourceJson = new WeakMap<object, unknown>();

function registerObjectType(
  environment: Environment,
  name: string,
  fields: ReadonlyMap<string, { readonly key: string; readonly type: CelType }>,
): CelType {
  // One class for each schema: CEL identifies the type of a value by its class.
  const Shape = class {
    constructor(values: JsonObject) {
      Object.assign(this, values);
    }
  };
  const declared = Object.fromEntries([...fields].map(([identifier, { type }]) => [identifier, type.name]));
  environment.registerType(name, { ctor: Shape, fields: declared });
  environment.registerOperator(`${name} == ${name}`, (a, b) => equal(sourceJson.get(a), sourceJson.get(b)));
  return {
    name,
    toValue(json) {
      if (!isObject(json)) return json;
      const values: JsonObject = {};
      for (const [identifier, { key, type }] of fields) {
        const value = json[key];
        if (value !== undefined && value !== null) values[identifier] = type.toValue(value);
      }
      const made = new Shape(values);
      sourceJson.set(made, json);
      return made;
    },
  };
}

function toDynamic(json: unknown): unknown {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return json.map(toDynamic);
  if (isObject(json)) return new Map(Object.entries(json).map(([key, value]) => [key, toDynamic(value)]));
  return json;
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/**
 * A field's escaped name in expressions (`__dash__` etc.); undefined when it cannot be escaped (`pkg/cel/escaping.go`).
 */
export function escapeField(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name.replace(/__|[-./]/g, (found) => escapes[found] ?? found);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

const escapes: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '-': '__dash__',
  '.': '__dot__',
  '/': '__slash__',
};
