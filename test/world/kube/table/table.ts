import type { ApiResource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { columnsOf } from './columns.ts';

/** An object reduced to its metadata. */
export const partialMetadata = (object: ApiObject): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});

/** The part of the object in a row, by `includeObject`: none, the metadata (the default), or the whole object. */
function rowObject(object: ApiObject, include: string | null): JsonObject | null {
  if (include === 'None') return null;
  return include === 'Object' ? object : partialMetadata(object);
}

/** Objects as the rows that kubectl prints. Only the first event of a watch has columns. */
export function toTable(
  resource: ApiResource,
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
