import { isObject, type JsonObject } from '../json.ts';
import { childPath, indexedPath, type ObjectSchema, preservesUnknownFields, valueSchema } from './schema.ts';

/**
 * Removes unknown fields in place, and returns their paths. apiVersion, kind and metadata of a resource are never
 * pruned.
 */
export function pruneUnknownFields(schema: ObjectSchema, object: JsonObject): string[] {
  const unknown: string[] = [];
  pruneObject(schema, object, '', true, unknown);
  return unknown;
}

const resourceFields = new Set(['apiVersion', 'kind', 'metadata']);

function pruneValue(schema: ObjectSchema | undefined, value: unknown, path: string, unknown: string[]): void {
  if (Array.isArray(value)) {
    value.forEach((item, i) => {
      pruneValue(
        schema?.items ?? (schema && preservesUnknownFields(schema) ? schema : undefined),
        item,
        indexedPath(path, i),
        unknown,
      );
    });
  } else if (isObject(value)) {
    pruneObject(schema ?? {}, value, path, false, unknown);
  }
}

function pruneObject(
  schema: ObjectSchema,
  value: JsonObject,
  path: string,
  isResource: boolean,
  unknown: string[],
): void {
  const values = valueSchema(schema);
  for (const [name, field] of Object.entries(value)) {
    if (isResource && resourceFields.has(name)) continue;
    const here = childPath(path, name);
    const declared = schema.properties?.[name] ?? values;
    if (declared) {
      pruneValue(declared, field, here, unknown);
    } else if (schema.additionalProperties !== true && !preservesUnknownFields(schema)) {
      unknown.push(here);
      delete value[name];
    }
  }
}
