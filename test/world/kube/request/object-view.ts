import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import { clone } from '../json.ts';
import { applyDefaults } from '../schema/defaults.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import type { ApiObject } from '../storage/store.ts';

/** The schema that last defaulted a stored custom resource. */
const defaultedBy = new WeakMap<ApiObject, ObjectSchema>();

export const rememberDefaults = (object: ApiObject, schema: ObjectSchema): void => {
  defaultedBy.set(object, schema);
};

/** A stored object in the version of a resource, with the defaults of the current schema. */
export function viewThroughResource(resource: ApiResource, object: ApiObject): ApiObject {
  if (!resource.definition) return object;
  const apiVersion = apiVersionOfResource(resource);
  if (defaultedBy.get(object) === resource.schema && object.apiVersion === apiVersion) return object;
  const shown = { ...clone(object), apiVersion };
  applyDefaults(resource.schema, shown);
  return shown;
}
