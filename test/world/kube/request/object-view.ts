import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import { clone, type JsonObject } from '../json.ts';
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
  const apiVersion = apiVersionOfResource(resource);
  if (resource.storage === 'events' && object.apiVersion !== apiVersion) return convertEvent(object, apiVersion);
  if (!resource.definition) return object;
  if (defaultedBy.get(object) === resource.schema && object.apiVersion === apiVersion) return object;
  const shown = { ...clone(object), apiVersion };
  applyDefaults(resource.schema, shown);
  return shown;
}

/** Names of the fields in core/v1 and in events.k8s.io/v1. */
const eventFields: readonly (readonly [core: string, event: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

function convertEvent(object: ApiObject, apiVersion: string): ApiObject {
  const toCore = apiVersion === 'v1';
  const names = new Map(eventFields.map(([core, event]) => (toCore ? [event, core] : [core, event])));
  const made: JsonObject = {};
  for (const [name, value] of Object.entries(object)) made[names.get(name) ?? name] = value;
  return { ...(made as ApiObject), apiVersion };
}
