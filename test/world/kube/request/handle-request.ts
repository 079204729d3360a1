import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerReview } from '../auth/access-reviews.ts';
import { issueServiceAccountToken } from '../auth/token-request.ts';
import type { ApiResource, Subresource } from '../builtin/resources.ts';
import { handleDiscovery } from '../discovery/discover.ts';
import { methodNotAllowedError, noSuchResourceError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { patchObject } from '../patch/patch-object.ts';
import { deleteObject, parseDeleteOptions } from '../storage/delete-object.ts';
import { evictPod } from '../storage/evict-pod.ts';
import { matcherOf } from '../storage/list-objects.ts';
import { createObject, type ObjectTarget, readObject, updateObject } from '../storage/write-object.ts';
import { negotiateFormat, type ResponseFormat } from './content-negotiation.ts';
import type { RequestContext } from './context.ts';
import { decodeObject, parseBody } from './decode-object.ts';
import { handleScale } from './handle-scale.ts';
import {
  deletedStatus,
  listObject,
  objectListResponse,
  objectResponse,
  startWatchResponse,
} from './object-responses.ts';
import { viewThroughResource } from './object-view.ts';
import { type ApiResponse, okResponse, textResponse } from './response.ts';
import { checkWriteOptions } from './write-options.ts';

export interface ApiRequest {
  readonly context: RequestContext;
  /** Text; protobuf has been decoded to JSON, and `contentType` is JSON. */
  readonly body: string;
  readonly contentType: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

const responseShapes = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

/** Executes an authorized request. Undefined: the response is a stream that has started. */
export function handleRequest(request: ApiRequest): ApiResponse | undefined {
  const { context, message } = request;
  const { info } = context;
  if (!info.isResource) return handleDiscovery(context, message);
  const resource = context.registry.find(info.group, info.version, info.plural);
  if (!resource) return unknownResource(context);
  const wanted = negotiateFormat(message.headers.accept, responseShapes);
  if (resource.virtual) return handleReview(request, resource, wanted);
  if (info.subresource) return handleSubresource(request, resource, wanted);
  return handleResource(request, resource, wanted);
}

function unknownResource({ info, registry }: RequestContext): ApiResponse {
  const isServed = registry.all().some((r) => r.group === info.group && r.version === info.version && !r.definition);
  if (isServed) throw noSuchResourceError();
  return textResponse(404, '404 page not found\n');
}

function handleReview(request: ApiRequest, resource: ApiResource, wanted: ResponseFormat): ApiResponse {
  const { context } = request;
  if (context.info.verb !== 'create') throw methodNotAllowedError();
  const object = decodeObject(context, resource, bodyOf(request));
  return { ...okResponse(answerReview(context, resource, object), 201), yaml: wanted.yaml };
}

const bodyOf = ({ body, contentType }: ApiRequest): JsonObject => parseBody(body, contentType);

function targetOf({ info }: RequestContext, resource: ApiResource): ObjectTarget {
  const namespace = resource.namespaced ? info.namespace : undefined;
  return { resource, namespace, name: info.name ?? '', subresource: info.subresource as Subresource | '' };
}

function handleResource(request: ApiRequest, resource: ApiResource, wanted: ResponseFormat): ApiResponse | undefined {
  const { context } = request;
  const target = targetOf(context, resource);
  const { namespace } = target;
  checkScope(context, resource);
  checkWriteOptions(context);
  switch (context.info.verb) {
    case 'get':
      return objectResponse(context, resource, readObject(context, target), wanted);
    case 'list':
      return objectListResponse(context, resource, namespace, wanted);
    case 'watch':
      startWatchResponse(context, resource, namespace, wanted, request.response);
      return undefined;
    case 'create':
      if (context.info.name !== undefined || (resource.namespaced && namespace === undefined))
        throw methodNotAllowedError();
      return objectResponse(
        context,
        resource,
        createObject(context, resource, namespace, decodeObject(context, resource, bodyOf(request))),
        wanted,
        201,
      );
    case 'update':
      if (!target.name) throw methodNotAllowedError();
      return handlePut(request, target, wanted);
    case 'patch':
      if (!target.name) throw methodNotAllowedError();
      return handlePatch(request, target, wanted);
    case 'delete':
      return handleDelete(request, target, wanted);
    case 'deletecollection':
      return handleDeleteCollection(request, resource, namespace, wanted);
    default:
      throw methodNotAllowedError();
  }
}

/** A path with a namespace for a cluster-scoped kind is unknown, as is a name without its namespace. */
function checkScope({ info }: RequestContext, resource: ApiResource): void {
  if (!resource.namespaced && info.namespace !== undefined && resource.storage !== 'namespaces')
    throw noSuchResourceError();
  const isNamed = ['get', 'update', 'patch', 'delete'].includes(info.verb);
  if (resource.namespaced && info.namespace === undefined && isNamed) throw noSuchResourceError();
}

function handlePut(request: ApiRequest, target: ObjectTarget, wanted: ResponseFormat): ApiResponse {
  const { context } = request;
  const body = decodeObject(context, target.resource, bodyOf(request));
  const exists = context.storage.read(target.resource.storage, target.namespace, target.name);
  if (!exists && target.resource.createOnUpdate && !target.subresource) {
    body.metadata.name ||= target.name;
    delete body.metadata.resourceVersion;
    return objectResponse(
      context,
      target.resource,
      createObject(context, target.resource, target.namespace, body),
      wanted,
      201,
    );
  }
  return objectResponse(
    context,
    target.resource,
    updateObject(context, target, () => body, { by: 'put' }),
    wanted,
  );
}

function handlePatch(request: ApiRequest, target: ObjectTarget, wanted: ResponseFormat): ApiResponse {
  const { context } = request;
  const { object, created } = patchObject(context, target, request.body, request.contentType);
  return objectResponse(context, target.resource, object, wanted, created ? 201 : 200);
}

function handleDelete(request: ApiRequest, target: ObjectTarget, wanted: ResponseFormat): ApiResponse {
  const { context } = request;
  const options = parseDeleteOptions(context, request.body ? bodyOf(request) : {});
  const { gone, object } = deleteObject(context, target, options);
  // The store of Pods returns the deleted object.
  if (!gone || target.resource.storage === 'pods') return objectResponse(context, target.resource, object, wanted);
  return { ...okResponse(deletedStatus(target.resource, object)), yaml: wanted.yaml };
}

function handleDeleteCollection(
  request: ApiRequest,
  resource: ApiResource,
  namespace: string | undefined,
  wanted: ResponseFormat,
): ApiResponse {
  const { context } = request;
  const options = parseDeleteOptions(context, request.body ? bodyOf(request) : {});
  const matches = matcherOf(context, resource);
  const items = context.storage
    .all(resource.storage, namespace)
    .filter((object) => matches(viewThroughResource(resource, object)))
    .map((object) => {
      const { namespace: where, name } = object.metadata;
      return deleteObject(context, { resource, namespace: where, name, subresource: '' }, options).object;
    });
  return {
    ...okResponse(listObject(resource, items, { resourceVersion: String(context.storage.revision) })),
    yaml: wanted.yaml,
  };
}

function handleSubresource(request: ApiRequest, resource: ApiResource, wanted: ResponseFormat): ApiResponse {
  const { context } = request;
  const { subresource, verb } = context.info;
  if (!resource.subresources.includes(subresource as Subresource)) throw noSuchResourceError();
  checkScope(context, resource);
  checkWriteOptions(context);
  const target = targetOf(context, resource);
  if (subresource === 'eviction') {
    if (verb !== 'create') throw methodNotAllowedError();
    return okResponse(evictPod(context, target, bodyOf(request)), 201);
  }
  if (subresource === 'token') {
    if (verb !== 'create') throw methodNotAllowedError();
    return okResponse(issueServiceAccountToken(context, target, bodyOf(request)), 201);
  }
  if (subresource === 'scale' && resource.definition?.scale)
    return { ...okResponse(handleScale(context, target, resource.definition.scale, request)), yaml: wanted.yaml };
  if (verb === 'get') return objectResponse(context, resource, readObject(context, target), wanted);
  if (verb === 'update') return handlePut(request, target, wanted);
  if (verb === 'patch') return handlePatch(request, target, wanted);
  throw methodNotAllowedError();
}
