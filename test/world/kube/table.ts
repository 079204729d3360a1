import type { Resource } from './builtin/resources.ts';
import type { JsonObject } from './json.ts';
import type { ApiObject } from './store.ts';

/** An object cut down to its metadata. */
export const partial = (object: ApiObject): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});

/** Objects as the rows that kubectl prints. */
export class Tables {
  readonly #resource: Resource;

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  of(objects: readonly ApiObject[], metadata: object, withColumns = true): JsonObject {
    return {
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      columnDefinitions: withColumns
        ? [{ name: 'Name', type: 'string', format: 'name', description: this.#resource.kind, priority: 0 }]
        : [],
      rows: objects.map((object) => ({ cells: [object.metadata.name], object: partial(object) })),
    };
  }
}
