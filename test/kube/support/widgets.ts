import { randomBytes } from 'node:crypto';
import type { Body } from './raw-kube-client.ts';
import { eventuallyResponds, type ServerUnderTest } from './server-under-test.ts';

/**
 * A definition of the suite's own group. `schema` is the whole OpenAPI schema; `change` may add fields to the single
 * version.
 */
export function describeSuiteCrd(
  server: ServerUnderTest,
  names: { kind: string; plural: string; shortNames?: string[]; categories?: string[] },
  schema: Body,
  change: { scope?: 'Namespaced' | 'Cluster'; version?: Body; spec?: Body } = {},
): Body {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${server.group}` },
    spec: {
      group: server.group,
      scope: change.scope ?? 'Namespaced',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...change.version }],
      ...change.spec,
    },
  };
}

export const crdsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Creates a definition and waits until its kind is served. Returns the collection path without a namespace. */
export async function installCrd(server: ServerUnderTest, body: Body): Promise<string> {
  const { admin } = server;
  const answer = await admin.post(crdsPath, body);
  if (answer.status !== 201) throw new Error(`definition refused: ${answer.text}`);
  server.deleteLater(`${crdsPath}/${body.metadata.name}`);
  await eventuallyResponds(
    `${body.metadata.name} Established`,
    () => admin.get(`${crdsPath}/${body.metadata.name}`),
    ({ body: seen }) => hasTrueCondition(seen, 'Established') && hasTrueCondition(seen, 'NamesAccepted'),
  );
  const path = `/apis/${body.spec.group}/${body.spec.versions[0].name}/${body.spec.names.plural}`;
  await eventuallyResponds(
    `${path} served`,
    () => admin.get(path),
    (list) => list.status === 200,
  );
  return path;
}

export const hasTrueCondition = (object: Body, type: string): boolean =>
  object.status?.conditions?.some((condition: Body) => condition.type === type && condition.status === 'True') ?? false;

/** The schema of a kind with one field of nearly every type. */
const widgetSchema: Body = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10, description: 'How big it is.' },
        color: { type: 'string', enum: ['red', 'green', 'blue'], default: 'red' },
        name: { type: 'string', minLength: 2, maxLength: 8, pattern: '^[a-z]+$' },
        ratio: { type: 'number' },
        enabled: { type: 'boolean', default: true },
        maybe: { type: 'string', nullable: true },
        port: { 'x-kubernetes-int-or-string': true },
        when: { type: 'string', format: 'date-time' },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', maxItems: 3 },
        words: { type: 'array', items: { type: 'string' } },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              count: { type: 'integer', default: 1 },
              note: { type: 'string' },
            },
          },
        },
        labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 4 } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        nested: {
          type: 'object',
          default: {},
          properties: { level: { type: 'string', default: 'low' }, other: { type: 'string' } },
        },
        atom: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: { a: { type: 'string' }, b: { type: 'string' } },
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string' },
        seen: { type: 'integer' },
        conditions: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
          items: {
            type: 'object',
            required: ['type', 'status'],
            properties: { type: { type: 'string' }, status: { type: 'string' }, reason: { type: 'string' } },
          },
        },
      },
    },
  },
};

/** A kind of the suite, with functions to create and address its objects. */
export interface WidgetKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** In all namespaces. */
  readonly all: string;
  path(namespace: string, name?: string, subresource?: string): string;
  make(name: string, spec?: Body, more?: Body): Body;
}

const installed = new WeakMap<ServerUnderTest, Promise<WidgetKind>>();

/**
 * The suite's main kind: namespaced, with status sub-resource, columns, short names, a selectable field. Created once.
 */
export function ensureWidgetKind(server: ServerUnderTest): Promise<WidgetKind> {
  let made = installed.get(server);
  if (!made) {
    made = makeWidgets(server);
    installed.set(server, made);
  }
  return made;
}

async function makeWidgets(server: ServerUnderTest): Promise<WidgetKind> {
  const names = {
    kind: 'Widget',
    plural: 'widgets',
    singular: 'widget',
    listKind: 'WidgetList',
    shortNames: [`w${server.suffix}`],
    categories: [`c${server.suffix}`],
  };
  const version = {
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.color' }],
    additionalPrinterColumns: [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size', description: 'How big it is.' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 10 },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  };
  const all = await installCrd(server, describeSuiteCrd(server, names, widgetSchema, { version }));
  const apiVersion = `${server.group}/v1`;
  const base = `/apis/${apiVersion}`;
  return {
    apiVersion,
    kind: 'Widget',
    all,
    path: (namespace, name, subresource) =>
      [base, 'namespaces', namespace, 'widgets', name, subresource].filter((part) => part !== undefined).join('/'),
    make: (name, spec = {}, more = {}) => ({
      apiVersion,
      kind: 'Widget',
      metadata: { name },
      spec: { size: 1, ...spec },
      ...more,
    }),
  };
}

/** A short random word, for names inside a namespace. */
export const randomName = (): string => `w${randomBytes(3).toString('hex')}`;
