import { isObject, type JsonObject } from '../json.ts';
import { child, keyed, preserves, type Schema, valueSchema } from './schema.ts';

/**
 * Removes what the schema does not know, in place, and tells the paths of what it removed. apiVersion, kind and
 * metadata of a resource are never the schema's business.
 */
export function prune(schema: Schema, object: JsonObject): string[] {
  const unknown: string[] = [];
  pruneObject(schema, object, '', true, unknown);
  return unknown;
}

const ownFields = new Set(['apiVersion', 'kind', 'metadata']);

function pruneValue(schema: Schema | undefined, value: unknown, path: string, unknown: string[]): void {
  if (Array.isArray(value)) {
    value.forEach((item, i) => {
      pruneValue(schema?.items ?? (schema && preserves(schema) ? schema : undefined), item, keyed(path, i), unknown);
    });
  } else if (isObject(value)) {
    pruneObject(schema ?? {}, value, path, schema?.['x-kubernetes-embedded-resource'] === true, unknown);
  }
}

function pruneObject(schema: Schema, value: JsonObject, path: string, isResource: boolean, unknown: string[]): void {
  const values = valueSchema(schema);
  for (const [name, field] of Object.entries(value)) {
    if (isResource && ownFields.has(name)) continue;
    const here = child(path, name);
    const declared = schema.properties?.[name] ?? values;
    if (declared) {
      pruneValue(declared, field, here, unknown);
    } else if (schema.additionalProperties !== true && !preserves(schema)) {
      unknown.push(here);
      delete value[name];
    }
  }
}
