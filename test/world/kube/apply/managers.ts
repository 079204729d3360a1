import { metadata } from '../builtin/parts.ts';
import type { Resource } from '../builtin/resources.ts';
import { canonical } from '../json.ts';
import type { Schema } from '../schema/schema.ts';
import { type ManagedFields, now } from '../store.ts';
import { FieldSet } from './field-set.ts';

/** One writer's entry in `managedFields`, opened up. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly apiVersion: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Two entries are the same writer's when this is the same. Who applies keeps one entry for all versions. */
export const identityOf = (one: Omit<Manager, 'fields' | 'time'>): string =>
  canonical([one.manager, one.operation, one.subresource, one.operation === 'Apply' ? '' : one.apiVersion]);

export function readManagers(entries: readonly ManagedFields[] | undefined): Map<string, Manager> {
  const managers = new Map<string, Manager>();
  for (const entry of entries ?? []) {
    const one: Manager = {
      manager: entry.manager,
      operation: entry.operation,
      subresource: entry.subresource ?? '',
      apiVersion: entry.apiVersion,
      time: entry.time,
      fields: FieldSet.fromJson(entry.fieldsV1),
    };
    managers.set(identityOf(one), one);
  }
  return managers;
}

/**
 * Back to the wire: appliers first, then by time and name. Everybody keeps the time of his own last write; `writer`, by
 * identity, gets today's if its entry changed.
 */
export function writeManagers(
  managers: ReadonlyMap<string, Manager>,
  before: ReadonlyMap<string, Manager>,
  writer: string | undefined,
): ManagedFields[] {
  return [...managers]
    .filter(([, one]) => !one.fields.isEmpty)
    .map(([identity, one]): ManagedFields => {
      const known = before.get(identity);
      const isSame = known?.fields.equals(one.fields) === true && known.apiVersion === one.apiVersion;
      const time = identity === writer && !(isSame && known.time) ? now() : one.time;
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

const never: readonly (readonly string[])[] = [
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

/** Fields that nobody manages, and those that this door does not let through. */
export function ownable(resource: Resource, subresource: string, fields: FieldSet): FieldSet {
  let left = fields.difference(FieldSet.fromJson({ 'f:metadata': {} }));
  for (const path of never) left = left.without(path);
  if (subresource === 'status') {
    left = left.without(['f:spec']);
    if (resource.definition) left = left.without(['f:metadata']);
  } else if (resource.subresources.includes('status')) {
    left = left.without(['f:status']);
  }
  return left;
}

/** The schema of the whole object, metadata included. */
export const wholeSchema = (resource: Resource): Schema =>
  resource.definition
    ? { ...resource.schema, properties: { ...resource.schema.properties, metadata } }
    : resource.schema;
