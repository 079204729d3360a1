import { apiVersionOf, type Resource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ApiObject, ManagedFields } from '../store.ts';
import { FieldSet } from './field-set.ts';
import { identityOf, type Manager, ownable, readManagers, wholeSchema, writeManagers } from './managers.ts';
import { compare } from './typed.ts';

export interface Writer {
  readonly manager: string;
  readonly subresource: string;
}

/** Keeps the books after an update that was no apply: the writer owns what changed, everybody else loses it. */
export function trackUpdate(resource: Resource, old: ApiObject | undefined, next: ApiObject, by: Writer): void {
  const given = by.subresource ? old?.metadata.managedFields : next.metadata.managedFields;
  if (isReset(given)) {
    delete next.metadata.managedFields;
    return;
  }
  const before = readManagers(given?.length ? given : old?.metadata.managedFields);
  const changes = compare(wholeSchema(resource), bare(old), bare(next));
  const gone = changes.added.union(changes.modified).union(changes.removed);
  const writer = {
    manager: by.manager,
    operation: 'Update' as const,
    subresource: by.subresource,
    apiVersion: apiVersionOf(resource),
  };
  const identity = identityOf(writer);
  const managers = new Map<string, Manager>();
  for (const [name, one] of before)
    if (name !== identity) managers.set(name, { ...one, fields: one.fields.difference(gone) });
  const own = (before.get(identity)?.fields ?? new FieldSet()).difference(changes.removed);
  const fields = ownable(resource, by.subresource, own.union(changes.modified).union(changes.added));
  managers.set(identity, { ...writer, time: before.get(identity)?.time, fields });
  setManagers(next, writeManagers(managers, before, identity));
}

export function setManagers(object: ApiObject, entries: ManagedFields[]): void {
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

/** Writing an empty list, or a list of one empty entry, makes the server forget who owns what. */
const isReset = (entries: readonly ManagedFields[] | undefined): boolean =>
  entries !== undefined &&
  (entries.length === 0 || (entries.length === 1 && Object.keys(entries[0] ?? {}).length === 0));

function bare(object: ApiObject | undefined): JsonObject {
  if (!object) return {};
  const { managedFields: _managedFields, ...meta } = object.metadata;
  return { ...object, metadata: meta };
}
