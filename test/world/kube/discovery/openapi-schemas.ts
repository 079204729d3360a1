import { metadataSchema } from '../builtin/model-schema.ts';
import type { ApiResource } from '../builtin/resources.ts';
import type { JsonObject } from '../json.ts';
import type { ObjectSchema } from '../schema/schema.ts';

const metaPrefix = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const objectMeta = `${metaPrefix}.ObjectMeta`;
const listMeta = `${metaPrefix}.ListMeta`;

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** The name of a kind's schema: reversed domain, version, kind. */
export function schemaName({ group, version, definition }: ApiResource, kind: string): string {
  const place = definition ? group.split('.').reverse().join('.') : `io.k8s.api.${group.split('.')[0] || 'core'}`;
  return `${place}.${version}.${kind}`;
}

/** Schemas in every document. */
export const sharedSchemas = (): JsonObject => ({
  [objectMeta]: {
    ...toOpenApi(metadataSchema),
    description: 'ObjectMeta is metadata that all persisted resources must have.',
  },
  [listMeta]: {
    type: 'object',
    description: 'ListMeta describes metadata that synthetic resources must have.',
    properties: {
      continue: { type: 'string' },
      remainingItemCount: { type: 'integer', format: 'int64' },
      resourceVersion: { type: 'string' },
      selfLink: { type: 'string' },
    },
  },
});

const apiVersion = {
  type: 'string',
  description:
    'APIVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
};
const kindField = {
  type: 'string',
  description:
    'Kind is a string value representing the REST resource this object represents. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
};
const metadataField = {
  description:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  allOf: [reference(objectMeta)],
};

/** The schemas of one kind and its list. */
export function openApiSchemas(resource: ApiResource): JsonObject {
  const { group, version, kind, listKind, schema, virtual } = resource;
  const own = toOpenApi(schema);
  const name = schemaName(resource, kind);
  const properties = { ...(own['properties'] as JsonObject | undefined), apiVersion, kind: kindField };
  const whole = {
    ...own,
    properties: { ...properties, metadata: metadataField },
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
  };
  if (virtual) return { [name]: whole };
  return {
    [name]: whole,
    [schemaName(resource, listKind)]: {
      type: 'object',
      description: `${listKind} is a list of ${kind}`,
      required: ['items'],
      properties: {
        apiVersion,
        kind: kindField,
        metadata: { allOf: [reference(listMeta)] },
        items: { type: 'array', items: { allOf: [reference(name)] } },
      },
      'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
    },
  };
}

/** A schema without internal fields. The inner level of a recursive schema is only "an object". */
function toOpenApi(schema: ObjectSchema, above: readonly ObjectSchema[] = []): JsonObject {
  if (above.includes(schema)) return { type: 'object' };
  const inner = (part: ObjectSchema): JsonObject => toOpenApi(part, [...above, schema]);
  const { properties, items, additionalProperties, format, ...rest } = schema;
  return {
    ...rest,
    ...(format ? { format: format === 'micro-time' ? 'date-time' : format } : {}),
    ...(properties
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part)])) }
      : {}),
    ...(items ? { items: inner(items) } : {}),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: inner(additionalProperties) } : {}),
    ...(additionalProperties === true ? { additionalProperties: { type: 'object' } } : {}),
  };
}
