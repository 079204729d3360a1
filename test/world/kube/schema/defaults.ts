import { clone, isObject } from '../json.ts';
import { fieldSchema, type ObjectSchema } from './schema.ts';

/** Sets the schema's defaults in place, also inside existing values, then drops nulls that are not nullable. */
export function applyDefaults(schema: ObjectSchema, value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) if (schema.items) applyDefaults(schema.items, item);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const missing = value[name] === undefined || (value[name] === null && property.nullable !== true);
    if (missing && property.default !== undefined) value[name] = clone(property.default);
    else if (missing && value[name] === null) delete value[name];
  }
  for (const [name, field] of Object.entries(value)) {
    const known = fieldSchema(schema, name);
    if (known) applyDefaults(known, field);
  }
}
