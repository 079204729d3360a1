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
import { definitions, definitions114, namespaces } from '../definitions.ts';
import type { Node } from '../node.ts';
import { Queue } from '../queue.ts';
import { type Resource, type ResourceEvent, yamlOf } from '../resources.ts';
import { rolesKey } from './context.ts';
import { denied, unimplemented } from './errors.ts';

/** `cosi.resource.State` (cosi runtime: pkg/state/protobuf/server), read-only. */
export function stateService(node: Node): ServiceImpl<typeof State> {
  return {
    get(request, context) {
      judge(node.minor, request.namespace, request.type, context);
      const resource = node.resources.get(request.namespace, request.type, request.id);
      if (!resource)
        throw new ConnectError(
          `resource ${request.type}(${request.namespace}/${request.id}@undefined) doesn't exist`,
          Code.NotFound,
        );
      return { resource: toProto(resource) };
    },
    async *list(request, context) {
      judge(node.minor, request.namespace, request.type, context);
      const fits = matcher(request.options?.labelQuery ?? [], request.options?.idQuery);
      for (const resource of node.resources.list(request.namespace, request.type)) {
        if (fits(resource)) yield { resource: toProto(resource) };
      }
    },
    async *watch(request, context) {
      judge(node.minor, request.namespace, request.type, context);
      const single = request.id !== undefined;
      const options = request.options;
      if (single && options?.bootstrapContents)
        throw unimplemented('bootstrap contents is not implemented for resource watch');
      const queue = new Queue<Event[]>(AbortSignal.any([context.signal, node.signal]));
      const fits = matcher(options?.labelQuery ?? [], options?.idQuery);
      const stop = node.resources.onEvent((event) => {
        const { namespace, type, id } = event.resource;
        if (namespace !== request.namespace || type !== request.type) return;
        if (single ? id === request.id : fits(event.resource)) queue.push([toEvent(event)]);
      });
      try {
        // The first answer is empty: the watch has begun.
        yield { event: [] };
        const current = initial(node, request.namespace, request.type, request.id, options?.bootstrapContents ?? false);
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
function judge(minor: number, namespace: string, type: string, context: HandlerContext): void {
  const definition = definitions.get(type) ?? (minor >= 14 ? definitions114.get(type) : undefined);
  if (!definition) throw denied(`resource type "${type}" is not supported`);
  if (definition.sensitive && !context.values.get(rolesKey).has('os:admin')) throw denied();
  if (!namespaces.has(namespace)) throw denied(`namespace "${namespace}" is not supported`);
}

function initial(node: Node, namespace: string, type: string, id: string | undefined, contents: boolean): Event[] {
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

function toEvent(event: ResourceEvent): Event {
  const eventType = { created: EventType.CREATED, updated: EventType.UPDATED, destroyed: EventType.DESTROYED }[
    event.kind
  ];
  return create(EventSchema, {
    resource: toProto(event.resource),
    eventType,
    ...(event.kind === 'updated' ? { old: toProto(event.old) } : {}),
  });
}

function toProto(resource: Resource): ProtoResource {
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

function matcher(labels: readonly LabelQuery[], id: IDQuery | undefined): (resource: Resource) => boolean {
  const pattern = id?.regexp ? new RegExp(id.regexp) : undefined;
  return (resource) => {
    if (pattern && !pattern.test(resource.id)) return false;
    return labels.length === 0 || labels.some((query) => query.terms.every((term) => termFits(term, resource.labels)));
  };
}

/** EXISTS, EQUAL, NOT_EXISTS, IN; comparisons are not used by any client that we know. */
function termFits(term: LabelQuery['terms'][number], labels: Readonly<Record<string, string>>): boolean {
  const value = labels[term.key];
  const fits =
    term.op === 0
      ? value !== undefined
      : term.op === 2
        ? value === undefined
        : value !== undefined && term.value.includes(value);
  return fits !== term.invert;
}
