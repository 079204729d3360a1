import type { IncomingMessage, ServerResponse } from 'node:http';
import { goneStatus, listObject, many, one, stream } from './answers.ts';
import type { Resource, Subresource } from './builtin/resources.ts';
import type { Context } from './context.ts';
import { decodeObject, parseBody } from './decode.ts';
import { deleteOptions, remove } from './delete.ts';
import { discover } from './discovery/discover.ts';
import { methodNotAllowed, noSuchResource } from './errors.ts';
import type { JsonObject } from './json.ts';
import { matcherOf } from './list.ts';
import { negotiate, type Wanted } from './negotiate.ts';
import { create, read, type Target, update } from './objects.ts';
import { checkOptions } from './options.ts';
import { patch } from './patch/patch.ts';
import { present } from './present.ts';
import { type Answer, ok, text } from './respond.ts';
import { review } from './reviews.ts';
import { scale } from './scale.ts';
import { requestToken } from './token.ts';

export interface Request {
  readonly context: Context;
  /** Text; protobuf is JSON by now, and `contentType` says so. */
  readonly body: string;
  readonly contentType: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

const shapes = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

/** Does the work of an authorized request. Undefined: the response is a stream that is already under way. */
export function handle(request: Request): Answer | undefined {
  const { context, message } = request;
  const { info } = context;
  if (!info.isResource) return discover(context, message);
  const resource = context.registry.find(info.group, info.version, info.plural);
  if (!resource) return unknownResource(context);
  const wanted = negotiate(message.headers.accept, shapes);
  if (resource.virtual) return reviewed(request, resource, wanted);
  if (info.subresource) return onSubresource(request, resource, wanted);
  return onResource(request, resource, wanted);
}

function unknownResource({ info, registry }: Context): Answer {
  const isServed = registry.all().some((r) => r.group === info.group && r.version === info.version && !r.definition);
  if (isServed) throw noSuchResource();
  return text(404, '404 page not found\n');
}

function reviewed(request: Request, resource: Resource, wanted: Wanted): Answer {
  const { context } = request;
  if (context.info.verb !== 'create') throw methodNotAllowed();
  const object = decodeObject(context, resource, bodyOf(request));
  return { ...ok(review(context, resource, object), 201), yaml: wanted.yaml };
}

const bodyOf = ({ body, contentType }: Request): JsonObject => parseBody(body, contentType);

function targetOf({ info }: Context, resource: Resource): Target {
  const namespace = resource.namespaced ? info.namespace : undefined;
  return { resource, namespace, name: info.name ?? '', subresource: info.subresource as Subresource | '' };
}

function onResource(request: Request, resource: Resource, wanted: Wanted): Answer | undefined {
  const { context } = request;
  const target = targetOf(context, resource);
  const { namespace } = target;
  checkScope(context, resource);
  checkOptions(context);
  switch (context.info.verb) {
    case 'get':
      return one(context, resource, read(context, target), wanted);
    case 'list':
      return many(context, resource, namespace, wanted);
    case 'watch':
      stream(context, resource, namespace, wanted, request.response);
      return undefined;
    case 'create':
      if (context.info.name !== undefined || (resource.namespaced && namespace === undefined)) throw methodNotAllowed();
      return one(
        context,
        resource,
        create(context, resource, namespace, decodeObject(context, resource, bodyOf(request))),
        wanted,
        201,
      );
    case 'update':
      if (!target.name) throw methodNotAllowed();
      return put(request, target, wanted);
    case 'patch':
      if (!target.name) throw methodNotAllowed();
      return patched(request, target, wanted);
    case 'delete':
      return deleted(request, target, wanted);
    case 'deletecollection':
      return deletedAll(request, resource, namespace, wanted);
    default:
      throw methodNotAllowed();
  }
}

/** A path with a namespace for a kind that has none leads nowhere, as does one name without its namespace. */
function checkScope({ info }: Context, resource: Resource): void {
  if (!resource.namespaced && info.namespace !== undefined && resource.storage !== 'namespaces') throw noSuchResource();
  const isNamed = ['get', 'update', 'patch', 'delete'].includes(info.verb);
  if (resource.namespaced && info.namespace === undefined && isNamed) throw noSuchResource();
}

function put(request: Request, target: Target, wanted: Wanted): Answer {
  const { context } = request;
  const body = decodeObject(context, target.resource, bodyOf(request));
  const exists = context.storage.read(target.resource.storage, target.namespace, target.name);
  if (!exists && target.resource.createOnUpdate && !target.subresource) {
    body.metadata.name ||= target.name;
    delete body.metadata.resourceVersion;
    return one(context, target.resource, create(context, target.resource, target.namespace, body), wanted, 201);
  }
  return one(
    context,
    target.resource,
    update(context, target, () => body, { by: 'put' }),
    wanted,
  );
}

function patched(request: Request, target: Target, wanted: Wanted): Answer {
  const { context } = request;
  const { object, created } = patch(context, target, request.body, request.contentType);
  return one(context, target.resource, object, wanted, created ? 201 : 200);
}

function deleted(request: Request, target: Target, wanted: Wanted): Answer {
  const { context } = request;
  const options = deleteOptions(context, request.body ? bodyOf(request) : {});
  const { gone, object } = remove(context, target, options);
  if (!gone) return one(context, target.resource, object, wanted);
  return { ...ok(goneStatus(target.resource, object)), yaml: wanted.yaml };
}

function deletedAll(request: Request, resource: Resource, namespace: string | undefined, wanted: Wanted): Answer {
  const { context } = request;
  const options = deleteOptions(context, request.body ? bodyOf(request) : {});
  const matches = matcherOf(context, resource);
  const items = context.storage
    .all(resource.storage, namespace)
    .filter((object) => matches(present(resource, object)))
    .map((object) => {
      const { namespace: where, name } = object.metadata;
      return remove(context, { resource, namespace: where, name, subresource: '' }, options).object;
    });
  return {
    ...ok(listObject(resource, items, { resourceVersion: String(context.storage.revision) })),
    yaml: wanted.yaml,
  };
}

function onSubresource(request: Request, resource: Resource, wanted: Wanted): Answer {
  const { context } = request;
  const { subresource, verb } = context.info;
  if (!resource.subresources.includes(subresource as Subresource)) throw noSuchResource();
  checkScope(context, resource);
  checkOptions(context);
  const target = targetOf(context, resource);
  if (subresource === 'token') {
    if (verb !== 'create') throw methodNotAllowed();
    return ok(requestToken(context, target, bodyOf(request)), 201);
  }
  if (subresource === 'scale') return scale(request, target);
  if (verb === 'get') return one(context, resource, read(context, target), wanted);
  if (verb === 'update') return put(request, target, wanted);
  if (verb === 'patch') return patched(request, target, wanted);
  throw methodNotAllowed();
}
