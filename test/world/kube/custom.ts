import type { Resource } from './builtin/resources.ts';
import type { FieldError } from './errors.ts';
import { validate, validateListTypes } from './schema/validate.ts';
import type { ApiObject } from './store.ts';

/** What a custom resource's schema and rules say against an object. */
export function customErrors(resource: Resource, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const errors = validate(resource.schema, object, old);
  errors.push(...validateListTypes(resource.schema, object));
  return errors;
}
