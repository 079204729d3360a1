import type { Resource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ApiObject } from '../store.ts';
import { builtinColumns } from './builtin-columns.ts';
import type { TableColumn } from './column.ts';
import { customColumns } from './custom-columns.ts';

/** An object cut down to its metadata. */
export const partial = (object: ApiObject): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});

/** What a row brings along of its object, as `includeObject` says: nothing, the metadata (the default), everything. */
function rowObject(object: ApiObject, include: string | null): JsonObject | null {
  if (include === 'None') return null;
  return include === 'Object' ? object : partial(object);
}

const known = new WeakMap<Resource, readonly TableColumn[]>();

function columnsOf(resource: Resource): readonly TableColumn[] {
  const before = known.get(resource);
  if (before) return before;
  const made = resource.definition ? customColumns(resource) : builtinColumns(resource);
  known.set(resource, made);
  return made;
}

/** Objects as the rows that kubectl prints. Columns are left out of all but the first event of a watch. */
export function tableOf(
  resource: Resource,
  objects: readonly ApiObject[],
  options: { readonly metadata: object; readonly include: string | null; readonly withColumns?: boolean },
): JsonObject {
  const columns = columnsOf(resource);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    columnDefinitions:
      options.withColumns === false ? null : columns.map(({ cell: _cell, ...definition }) => definition),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object)),
      object: rowObject(object, options.include),
    })),
  };
}
