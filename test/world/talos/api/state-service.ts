import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import {
  type Event,
  EventSchema,
  EventType,
  type IDQuery,
  type LabelQuery,
  type Resource as ProtoResource,
  ResourceSchema,
  type State,
} from '../../../../src/talos/gen/cosi_pb.ts';
import type { TalosNode } from '../node.ts';
import { AsyncQueue } from '../state/async-queue.ts';
import { namespaces, resourceDefinitions, resourceDefinitionsSince114 } from '../state/resource-definitions.ts';
import { type CosiEvent, type CosiResource, yamlOf } from '../state/resources.ts';
import { permissionDeniedError, unimplementedError } from './errors.ts';
import { rolesKey } from './roles-context.ts';

/** `cosi.resource.State` (cosi runtime: pkg/state/protobuf/server), read-only. */
export function stateService(node: TalosNode): ServiceImpl<typeof State> {
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
      checkAccess(node.minor, request.namespace, request.type, context);
      const single = request.id !== undefined;
      const options = request.options;
      if (single && options?.bootstrapContents)
        throw unimplementedError('bootstrap contents is not implemented for resource watch');
      const queue = new AsyncQueue<Event[]>(AbortSignal.any([context.signal, node.signal]));
      const fits = resourceMatcher(options?.labelQuery ?? [], options?.idQuery);
      const stop = node.resources.onEvent((event) => {
        const { namespace, type, id } = event.resource;
        if (namespace !== request.namespace || type !== request.type) return;
        if (single ? id === request.id : fits(event.resource)) queue.push([toEvent(event)]);
      });
      try {
        // The first answer is empty: the watch has begun.
        yield { event: [] };
        const current = initialEvents(
          node,
          request.namespace,
          request.type,
          request.id,
          options?.bootstrapContents ?? false,
        );
        const events = current.filter((event) => event.eventType !== EventType.BOOTSTRAPPED || request.apiVersion >= 1);
        if (options?.aggregated) yield { event: events };
        else for (const event of events) yield { event: [event] };
        for await (const batch of queue) yield { event: batch };
      } finally {
        stop();
      }
    },
  };
}

/** The access policy (talos: internal/app/resources/access.go). */
function checkAccess(minor: number, namespace: string, type: string, context: HandlerContext): void {
  const definition = resourceDefinitions.get(type) ?? (minor >= 14 ? resourceDefinitionsSince114.get(type) : undefined);
  if (!definition) throw permissionDeniedError(`resource type "${type}" is not supported`);
  if (definition.sensitive && !context.values.get(rolesKey).has('os:admin')) throw permissionDeniedError();
  if (!namespaces.has(namespace)) throw permissionDeniedError(`namespace "${namespace}" is not supported`);
}

function initialEvents(
  node: TalosNode,
  namespace: string,
  type: string,
  id: string | undefined,
  contents: boolean,
): Event[] {
  if (id !== undefined) {
    const resource = node.resources.get(namespace, type, id);
    const tombstone = create(ResourceSchema, {
      metadata: { namespace, type, id, version: 'undefined', phase: 'running' },
      spec: {},
    });
    return [
      create(EventSchema, {
        resource: resource ? toProto(resource) : tombstone,
        eventType: resource ? EventType.CREATED : EventType.DESTROYED,
      }),
    ];
  }
  if (!contents) return [];
  const created = node.resources
    .list(namespace, type)
    .map((resource) => create(EventSchema, { resource: toProto(resource), eventType: EventType.CREATED }));
  const end = create(ResourceSchema, {
    metadata: { namespace, type, version: 'undefined', phase: 'running' },
    spec: {},
  });
  return [...created, create(EventSchema, { resource: end, eventType: EventType.BOOTSTRAPPED })];
}

function toEvent(event: CosiEvent): Event {
  const eventType = { created: EventType.CREATED, updated: EventType.UPDATED, destroyed: EventType.DESTROYED }[
    event.kind
  ];
  return create(EventSchema, {
    resource: toProto(event.resource),
    eventType,
    ...(event.kind === 'updated' ? { old: toProto(event.old) } : {}),
  });
}

function toProto(resource: CosiResource): ProtoResource {
  const { namespace, type, id } = resource;
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
    },
    spec: { yamlSpec: yamlOf(resource), ...(resource.proto ? { protoSpec: resource.proto } : {}) },
  });
}

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
