import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ApiObject, ManagedFields } from '../storage/store.ts';
import {
  type FieldManager,
  managerKey,
  ownableFields,
  parseManagers,
  serializeManagers,
  wholeSchema,
} from './field-managers.ts';
import { FieldSet } from './field-set.ts';
import { compareTyped } from './typed-values.ts';

export interface UpdateWriter {
  readonly manager: string;
  readonly subresource: string;
}

/**
 * Updates the field owners after an update other than apply: the writer owns the changed fields, and all other managers
 * lose them.
 */
export function trackUpdate(
  resource: ApiResource,
  old: ApiObject | undefined,
  next: ApiObject,
  by: UpdateWriter,
): void {
  const given = by.subresource ? old?.metadata.managedFields : next.metadata.managedFields;
  if (isReset(given)) {
    delete next.metadata.managedFields;
    return;
  }
  const before = parseManagers(given?.length ? given : old?.metadata.managedFields);
  const changes = compareTyped(wholeSchema(resource), withoutManagedFields(old), withoutManagedFields(next));
  const gone = changes.added.union(changes.modified).union(changes.removed);
  const writer = {
    manager: by.manager,
    operation: 'Update' as const,
    subresource: by.subresource,
    apiVersion: apiVersionOfResource(resource),
  };
  const identity = managerKey(writer);
  const managers = new Map<string, FieldManager>();
  for (const [name, one] of before)
    if (name !== identity) managers.set(name, { ...one, fields: one.fields.difference(gone) });
  const own = (before.get(identity)?.fields ?? new FieldSet()).difference(changes.removed);
  const fields = ownableFields(resource, by.subresource, own.union(changes.modified).union(changes.added));
  managers.set(identity, { ...writer, time: before.get(identity)?.time, fields });
  setManagers(next, serializeManagers(managers, before, identity));
}

export function setManagers(object: ApiObject, entries: ManagedFields[]): void {
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

/** A write of an empty list, or of a list with one empty entry, clears all owners. */
const isReset = (entries: readonly ManagedFields[] | undefined): boolean =>
  entries !== undefined &&
  (entries.length === 0 || (entries.length === 1 && Object.keys(entries[0] ?? {}).length === 0));

function withoutManagedFields(object: ApiObject | undefined): JsonObject {
  if (!object) return {};
  const { managedFields: _managedFields, ...meta } = object.metadata;
  return { ...object, metadata: meta };
}
