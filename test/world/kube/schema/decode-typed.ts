import type { ApiError } from '../errors.ts';
import { isObject, type JsonObject, typeName } from '../json.ts';
import { isBase64Format, isRfc3339, isRfc3339Micro } from './formats.ts';
import {
  childPath,
  indexedPath,
  isIntOrString,
  type ObjectSchema,
  preservesUnknownFields,
  valueSchema,
} from './schema.ts';

/**
 * The effect of decoding JSON into a Go struct: wrong types are refused with the error of `refuse`; unknown fields are
 * dropped and their paths returned; null and empty lists and maps count as absent.
 */
export function decodeTyped(
  schema: ObjectSchema,
  value: JsonObject,
  kind: string,
  refuse: (problem: string) => ApiError,
): { object: JsonObject; unknown: string[] } {
  const unknown: string[] = [];
  const walk = new Decoder(refuse, kind, unknown);
  return { object: (walk.decode(schema, value, '') ?? {}) as JsonObject, unknown };
}

class Decoder {
  readonly #error: (problem: string) => ApiError;
  readonly #kind: string;
  readonly #unknown: string[];

  constructor(refuse: (problem: string) => ApiError, kind: string, unknown: string[]) {
    this.#error = refuse;
    this.#kind = kind;
    this.#unknown = unknown;
  }

  /** `goPath`: the path in Go's messages, without keys of maps. */
  decode(schema: ObjectSchema, value: unknown, path: string, goPath = path): unknown {
    if (value === null || value === undefined) return undefined;
    if (isIntOrString(schema)) {
      if (typeof value !== 'string' && typeof value !== 'number') this.#refuse(value, goPath, 'intstr.IntOrString');
      return value;
    }
    switch (schema.type) {
      case 'string':
        return this.#text(schema, value, goPath);
      case 'integer':
        if (typeof value !== 'number' || !Number.isInteger(value)) {
          this.#refuse(value, goPath, schema.format === 'int32' ? 'int32' : 'int64');
        }
        return value;
      case 'number':
        if (typeof value !== 'number') this.#refuse(value, goPath, 'float64');
        return value;
      case 'boolean':
        if (typeof value !== 'boolean') this.#refuse(value, goPath, 'bool');
        return value;
      case 'array':
        return this.#list(schema, value, path, goPath);
      case 'object':
        return this.#object(schema, value, path, goPath);
      default:
        return schema.properties && isObject(value) ? this.#object(schema, value, path, goPath) : value;
    }
  }

  #text(schema: ObjectSchema, value: unknown, goPath: string): string {
    if (typeof value !== 'string') return this.#refuse(value, goPath, 'string');
    const { format } = schema;
    if (format === 'byte' && !isBase64Format(value))
      throw this.#error(`illegal base64 data at input byte ${firstBad(value)}`);
    if (format === 'micro-time' && !isRfc3339Micro(value)) throw this.#error(microTimeProblem(value));
    if (format === 'date-time' && !isRfc3339(value)) {
      throw this.#error(
        `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(value)} as "2006"`,
      );
    }
    return value;
  }

  #list(schema: ObjectSchema, value: unknown, path: string, goPath: string): unknown[] | undefined {
    if (!Array.isArray(value)) return this.#refuse(value, goPath, '[]interface {}');
    const items = value.map((item, i) =>
      schema.items ? (this.decode(schema.items, item, indexedPath(path, i), goPath) ?? emptyOf(schema.items)) : item,
    );
    return items.length > 0 ? items : undefined;
  }

  #object(schema: ObjectSchema, value: unknown, path: string, goPath: string): JsonObject | undefined {
    if (!isObject(value)) return this.#refuse(value, goPath, 'map[string]interface {}');
    const values = valueSchema(schema);
    const made: JsonObject = {};
    for (const [name, field] of Object.entries(value)) {
      const here = childPath(path, name);
      const declared = schema.properties?.[name];
      const known = declared ?? values;
      if (known) {
        const goHere = declared ? childPath(goPath, name) : goPath;
        const decoded =
          this.decode(known, field, here, goHere) ?? (values && field !== null ? emptyOf(values) : undefined);
        if (decoded !== undefined) made[name] = decoded;
      } else if (preservesUnknownFields(schema)) {
        made[name] = field;
      } else {
        this.#unknown.push(here);
      }
    }
    return values && Object.keys(made).length === 0 ? undefined : made;
  }

  #refuse(value: unknown, goPath: string, wanted: string): never {
    const found = typeName(value) === 'boolean' ? 'bool' : typeName(value).replace('integer', 'number');
    throw this.#error(`json: cannot unmarshal ${found} into Go struct field ${this.#kind}.${goPath} of type ${wanted}`);
  }
}

const emptyOf = (schema: ObjectSchema): unknown =>
  schema.type === 'string' ? '' : schema.type === 'array' ? [] : schema.type === 'object' ? {} : null;

const firstBad = (text: string): number => {
  const found = text.search(/[^A-Za-z0-9+/=]/);
  return found < 0 ? Math.max(0, text.length - (text.length % 4)) : found;
};

function microTimeProblem(text: string): string {
  const layout = '2006-01-02T15:04:05.000000Z07:00';
  const rest = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(.*)$/.exec(text)?.[1];
  const [part, wanted] = rest === undefined ? [text, '2006'] : [rest, '.000000'];
  return `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(part)} as ${JSON.stringify(wanted)}`;
}
