import type { ServerResponse } from 'node:http';
import { type ApiResource, apiVersionOfResource } from '../builtin/resources.ts';
import { notAcceptableError, type StatusObject } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { listObjects, toListItem } from '../storage/list-objects.ts';
import type { ApiObject } from '../storage/store.ts';
import { type FormatObject, startWatch } from '../storage/watch-objects.ts';
import { partialMetadata, toTable } from '../table/table.ts';
import type { ResponseFormat } from './content-negotiation.ts';
import type { RequestContext } from './context.ts';
import { type ApiResponse, okResponse } from './response.ts';

/** Objects, lists and streams in the requested form. */

const formatted = (body: unknown, { yaml }: ResponseFormat, code = 200): ApiResponse => ({
  ...okResponse(body, code),
  yaml,
});

const includeObjectParameter = ({ info }: RequestContext): string | null => info.query.get('includeObject');

/** One object. */
export function objectResponse(
  context: RequestContext,
  resource: ApiResource,
  object: ApiObject,
  wanted: ResponseFormat,
  code = 200,
): ApiResponse {
  switch (wanted.as) {
    case '':
      return formatted(object, wanted, code);
    case 'Table': {
      const { resourceVersion } = object.metadata;
      return formatted(
        toTable(resource, [object], { metadata: { resourceVersion }, include: includeObjectParameter(context) }),
        wanted,
        code,
      );
    }
    case 'PartialObjectMetadata':
      return formatted(partialMetadata(object), wanted, code);
    default:
      throw notAcceptableError([`the object is no list, so it cannot be shown as ${wanted.as}`]);
  }
}

/** The result of a list request. */
export function objectListResponse(
  context: RequestContext,
  resource: ApiResource,
  namespace: string | undefined,
  wanted: ResponseFormat,
): ApiResponse {
  const { items, metadata } = listObjects(context, resource, namespace);
  switch (wanted.as) {
    case '':
      return formatted(listObject(resource, items, metadata), wanted);
    case 'Table':
      return formatted(toTable(resource, items, { metadata, include: includeObjectParameter(context) }), wanted);
    case 'PartialObjectMetadataList':
      return formatted(
        {
          kind: 'PartialObjectMetadataList',
          apiVersion: 'meta.k8s.io/v1',
          metadata,
          items: items.map(partialMetadata),
        },
        wanted,
      );
    default:
      throw notAcceptableError([`a list cannot be shown as ${wanted.as}`]);
  }
}

/** Objects as a list of their kind. */
export const listObject = (resource: ApiResource, items: readonly ApiObject[], metadata: object): JsonObject => ({
  kind: resource.listKind,
  apiVersion: apiVersionOfResource(resource),
  metadata,
  items: items.map((item) => toListItem(resource, item)),
});

/** A watch that writes to `response`. */
export function startWatchResponse(
  context: RequestContext,
  resource: ApiResource,
  namespace: string | undefined,
  wanted: ResponseFormat,
  response: ServerResponse,
): void {
  let withColumns = true;
  const dress: FormatObject = (object) => {
    if (wanted.as.startsWith('PartialObjectMetadata')) return partialMetadata(object);
    if (wanted.as !== 'Table') return object;
    const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' };
    const table = toTable(resource, [object], { metadata, include: includeObjectParameter(context), withColumns });
    withColumns = false;
    return table;
  };
  startWatch(context, resource, namespace, response, dress);
}

/** The answer to a deletion when the object is gone. */
export const deletedStatus = (resource: ApiResource, object: ApiObject): StatusObject => ({
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
