import type { ServerResponse } from 'node:http';
import { apiVersionOf, type Resource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { notAcceptable, type StatusObject } from './errors.ts';
import type { JsonObject } from './json.ts';
import { list, listItem } from './list.ts';
import type { Wanted } from './negotiate.ts';
import { type Answer, ok } from './respond.ts';
import type { ApiObject } from './store.ts';
import { partial, tableOf } from './table/table.ts';
import { type Dress, watch } from './watch.ts';

/** Objects, lists and streams in the form that the caller asked for. */

const shaped = (body: unknown, { yaml }: Wanted, code = 200): Answer => ({ ...ok(body, code), yaml });

const include = ({ info }: Context): string | null => info.query.get('includeObject');

/** One object. */
export function one(context: Context, resource: Resource, object: ApiObject, wanted: Wanted, code = 200): Answer {
  switch (wanted.as) {
    case '':
      return shaped(object, wanted, code);
    case 'Table': {
      const { resourceVersion } = object.metadata;
      return shaped(
        tableOf(resource, [object], { metadata: { resourceVersion }, include: include(context) }),
        wanted,
        code,
      );
    }
    case 'PartialObjectMetadata':
      return shaped(partial(object), wanted, code);
    default:
      throw notAcceptable([`the object is no list, so it cannot be shown as ${wanted.as}`]);
  }
}

/** What a list request finds. */
export function many(context: Context, resource: Resource, namespace: string | undefined, wanted: Wanted): Answer {
  const { items, metadata } = list(context, resource, namespace);
  switch (wanted.as) {
    case '':
      return shaped(listObject(resource, items, metadata), wanted);
    case 'Table':
      return shaped(tableOf(resource, items, { metadata, include: include(context) }), wanted);
    case 'PartialObjectMetadataList':
      return shaped(
        { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items: items.map(partial) },
        wanted,
      );
    default:
      throw notAcceptable([`a list cannot be shown as ${wanted.as}`]);
  }
}

/** Objects as a list of their kind. */
export const listObject = (resource: Resource, items: readonly ApiObject[], metadata: object): JsonObject => ({
  kind: resource.listKind,
  apiVersion: apiVersionOf(resource),
  metadata,
  items: items.map((item) => listItem(resource, item)),
});

/** A watch, begun on `response`. */
export function stream(
  context: Context,
  resource: Resource,
  namespace: string | undefined,
  wanted: Wanted,
  response: ServerResponse,
): void {
  let withColumns = true;
  const dress: Dress = (object) => {
    if (wanted.as.startsWith('PartialObjectMetadata')) return partial(object);
    if (wanted.as !== 'Table') return object;
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' };
    const table = tableOf(resource, [object], { metadata, include: include(context), withColumns });
    withColumns = false;
    return table;
  };
  watch(context, resource, namespace, response, dress);
}

/** What a deletion answers when nothing is left of the object. */
export const goneStatus = (resource: Resource, object: ApiObject): StatusObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: {
    name: object.metadata.name,
    ...(resource.group ? { group: resource.group } : {}),
    kind: resource.plural,
    uid: object.metadata.uid ?? '',
  },
});
