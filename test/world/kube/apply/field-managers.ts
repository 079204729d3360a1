import { metadataSchema } from '../builtin/model-schema.ts';
import type { ApiResource } from '../builtin/resources.ts';
import { canonicalJson } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { type ManagedFields, nowSeconds } from '../storage/store.ts';
import { FieldSet } from './field-set.ts';

/** One manager's parsed entry in `managedFields`. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly apiVersion: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Identifies the manager of an entry. An apply manager keeps one entry for all versions. */
export const managerKey = (one: Omit<FieldManager, 'fields' | 'time'>): string =>
  canonicalJson([one.manager, one.operation, one.subresource, one.operation === 'Apply' ? '' : one.apiVersion]);

export function parseManagers(entries: readonly ManagedFields[] | undefined): Map<string, FieldManager> {
  const managers = new Map<string, FieldManager>();
  for (const entry of entries ?? []) {
    const one: FieldManager = {
      manager: entry.manager,
      operation: entry.operation,
      subresource: entry.subresource ?? '',
      apiVersion: entry.apiVersion,
      time: entry.time,
      fields: FieldSet.fromJson(entry.fieldsV1),
    };
    managers.set(managerKey(one), one);
  }
  return managers;
}

/**
 * Encodes the entries: apply entries first, then by time and name. Each manager keeps the time of its last write;
 * `writer`, by identity, gets the current time if its entry changed.
 */
export function serializeManagers(
  managers: ReadonlyMap<string, FieldManager>,
  before: ReadonlyMap<string, FieldManager>,
  writer: string | undefined,
): ManagedFields[] {
  return [...managers]
    .filter(([, one]) => !one.fields.isEmpty)
    .map(([identity, one]): ManagedFields => {
      const known = before.get(identity);
      const isSame = known?.fields.equals(one.fields) === true && known.apiVersion === one.apiVersion;
      const time = identity === writer && !(isSame && known.time) ? nowSeconds() : one.time;
      return {
        manager: one.manager,
        operation: one.operation,
        apiVersion: one.apiVersion,
        ...(time ? { time } : {}),
        fieldsType: 'FieldsV1',
        fieldsV1: one.fields.toJson(),
        ...(one.subresource ? { subresource: one.subresource } : {}),
      };
    })
    .sort(
      (a, b) =>
        a.operation.localeCompare(b.operation) ||
        (a.time ?? '').localeCompare(b.time ?? '') ||
        a.manager.localeCompare(b.manager),
    );
}

const unmanagedPaths: readonly (readonly string[])[] = [
  ['f:apiVersion'],
  ['f:kind'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['f:metadata', `f:${name}`]),
];

/** Removes the fields that are never owned, and those outside of the subresource. */
export function ownableFields(resource: ApiResource, subresource: string, fields: FieldSet): FieldSet {
  let left = fields.difference(FieldSet.fromJson({ 'f:metadata': {} }));
  for (const path of unmanagedPaths) left = left.without(path);
  if (subresource === 'status') {
    left = left.without(['f:spec']);
    if (resource.definition) left = left.without(['f:metadata']);
  } else if (resource.subresources.includes('status')) {
    left = left.without(['f:status']);
  }
  return left;
}

/** The schema of the whole object, metadata included. */
export const wholeSchema = (resource: ApiResource): ObjectSchema =>
  resource.definition
    ? { ...resource.schema, properties: { ...resource.schema.properties, metadata: metadataSchema } }
    : resource.schema;
