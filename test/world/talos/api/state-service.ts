import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import {
  EventType,
  type IDQuery,
  type LabelQuery,
  type Resource as ProtoResource,
  ResourceSchema,
  type State,
} from '../../../../src/talos/gen/cosi_pb.ts';
import type { TalosNode } from '../node.ts';
import { findResourceType, namespaces } from '../state/resource-definitions.ts';
import { type CosiResource, yamlOf } from '../state/resources.ts';
import { protoSpecOf } from '../state/spec-protobuf.ts';
import { permissionDeniedError, unimplementedError } from './errors.ts';
import { rolesKey } from './roles-context.ts';

/** `cosi.resource.State` (cosi runtime: pkg/state/protobuf/server), read-only, and with watches of one resource. */
export function stateService(node: TalosNode): Partial<ServiceImpl<typeof State>> {
  return {
    get(request, context) {
      checkAccess(node.minor, request.namespace, request.type, context);
      const resource = node.resources.get(request.namespace, request.type, request.id);
      if (!resource)
        throw new ConnectError(
          `resource ${request.type}(${request.namespace}/${request.id}@undefined) doesn't exist`,
          Code.NotFound,
        );
      return { resource: toProto(resource) };
    },
    async *list(request, context) {
      checkAccess(node.minor, request.namespace, request.type, context);
      const fits = resourceMatcher(request.options?.labelQuery ?? [], request.options?.idQuery);
      for (const resource of node.resources.list(request.namespace, request.type)) {
        if (fits(resource)) yield { resource: toProto(resource) };
      }
    },
    async *watch(request, context) {
      const { namespace, type, id } = request;
      checkAccess(node.minor, namespace, type, context);
      if (id === undefined) throw unimplementedError('watches of a whole type are not simulated');
      const changes = node.resources.watch(namespace, type, id, AbortSignal.any([context.signal, node.signal]));
      const present = node.resources.get(namespace, type, id);
      // The first change is waited for from here on: none may be missed while the client reads.
      let next = changes.next();
      yield {};
      yield {
        event: [
          present
            ? { eventType: EventType.CREATED, resource: toProto(present) }
            : { eventType: EventType.DESTROYED, resource: toTombstone(namespace, type, id) },
        ],
      };
      for (;;) {
        const { value: change, done } = await next;
        if (done) return;
        next = changes.next();
        const old = change.old && toProto(change.old);
        const eventType = EventType[change.type];
        yield { event: [{ eventType, resource: toProto(change.resource), ...(old ? { old } : {}) }] };
      }
    },
  };
}

/** The access policy (talos: internal/app/resources/access.go). */
function checkAccess(minor: number, namespace: string, type: string, context: HandlerContext): void {
  const definition = findResourceType(type, minor);
  if (!definition) throw permissionDeniedError(`resource type "${type}" is not supported`);
  if (definition.sensitive && !context.values.get(rolesKey).has('os:admin')) throw permissionDeniedError();
  if (!namespaces.has(namespace)) throw permissionDeniedError(`namespace "${namespace}" is not supported`);
}

function toProto(resource: CosiResource): ProtoResource {
  const { namespace, type, id } = resource;
  const protoSpec = protoSpecOf(resource);
  return create(ResourceSchema, {
    metadata: {
      namespace,
      type,
      id,
      version: String(resource.version),
      owner: 'world',
      phase: 'running',
      created: timestampFromDate(resource.created),
      updated: timestampFromDate(resource.updated),
      labels: { ...resource.labels },
      annotations: { ...resource.annotations },
    },
    spec: { yamlSpec: yamlOf(resource), ...(protoSpec ? { protoSpec } : {}) },
  });
}

/** A resource that does not exist. */
const toTombstone = (namespace: string, type: string, id: string): ProtoResource =>
  create(ResourceSchema, { metadata: { namespace, type, id, version: 'undefined', phase: 'running' }, spec: {} });

function resourceMatcher(labels: readonly LabelQuery[], id: IDQuery | undefined): (resource: CosiResource) => boolean {
  const pattern = id?.regexp ? new RegExp(id.regexp) : undefined;
  return (resource) => {
    if (pattern && !pattern.test(resource.id)) return false;
    return (
      labels.length === 0 || labels.some((query) => query.terms.every((term) => termMatches(term, resource.labels)))
    );
  };
}

/** EXISTS, EQUAL, NOT_EXISTS, IN; no known client uses comparisons. */
function termMatches(term: LabelQuery['terms'][number], labels: Readonly<Record<string, string>>): boolean {
  const value = labels[term.key];
  const fits =
    term.op === 0
      ? value !== undefined
      : term.op === 2
        ? value === undefined
        : value !== undefined && term.value.includes(value);
  return fits !== term.invert;
}
