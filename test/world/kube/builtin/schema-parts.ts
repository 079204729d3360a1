import type { ObjectSchema } from '../schema/schema.ts';

/** Helpers for the schemas of built-in kinds. */

export const textSchema: ObjectSchema = { type: 'string' };
export const int32Schema: ObjectSchema = { type: 'integer', format: 'int32' };
export const int64Schema: ObjectSchema = { type: 'integer', format: 'int64' };
export const flagSchema: ObjectSchema = { type: 'boolean' };
/** RFC 3339, seconds. */
export const timeSchema: ObjectSchema = { type: 'string', format: 'date-time' };
/** RFC 3339 with exactly six fraction digits. */
export const microTimeSchema: ObjectSchema = { type: 'string', format: 'micro-time' };
export const base64Schema: ObjectSchema = { type: 'string', format: 'byte' };
export const intOrStringSchema: ObjectSchema = { 'x-kubernetes-int-or-string': true };
/** Parts without a schema. */
export const freeFormSchema: ObjectSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export const mapSchema = (values: ObjectSchema): ObjectSchema => ({ type: 'object', additionalProperties: values });
export const atomicMapSchema = (values: ObjectSchema): ObjectSchema => ({
  ...mapSchema(values),
  'x-kubernetes-map-type': 'atomic',
});
export const atomicListSchema = (items: ObjectSchema): ObjectSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'atomic',
});
export const setSchema = (items: ObjectSchema): ObjectSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'set',
  'x-kubernetes-patch-strategy': 'merge',
});

/** A list of objects with the keys `keys`; a strategic merge patch uses only the first key. */
export const keyedListSchema = (keys: readonly string[], items: ObjectSchema): ObjectSchema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-merge-key': keys[0] ?? '',
  'x-kubernetes-patch-strategy': 'merge',
});

export const structSchema = (
  properties: Record<string, ObjectSchema>,
  required: readonly string[] = [],
): ObjectSchema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
});
export const atomicObjectSchema = (properties: Record<string, ObjectSchema>): ObjectSchema => ({
  ...structSchema(properties),
  'x-kubernetes-map-type': 'atomic',
});

export const metadataSchema: ObjectSchema = {
  ...structSchema({
    name: textSchema,
    generateName: textSchema,
    namespace: textSchema,
    selfLink: textSchema,
    uid: textSchema,
    resourceVersion: textSchema,
    generation: int64Schema,
    creationTimestamp: timeSchema,
    deletionTimestamp: timeSchema,
    deletionGracePeriodSeconds: int64Schema,
    labels: mapSchema(textSchema),
    annotations: mapSchema(textSchema),
    ownerReferences: keyedListSchema(
      ['uid'],
      atomicObjectSchema({
        apiVersion: textSchema,
        kind: textSchema,
        name: textSchema,
        uid: textSchema,
        controller: flagSchema,
        blockOwnerDeletion: flagSchema,
      }),
    ),
    finalizers: setSchema(textSchema),
    managedFields: atomicListSchema(
      structSchema({
        manager: textSchema,
        operation: textSchema,
        apiVersion: textSchema,
        time: timeSchema,
        fieldsType: textSchema,
        fieldsV1: freeFormSchema,
        subresource: textSchema,
      }),
    ),
  }),
  description:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
};

/** A whole kind: its own fields besides apiVersion, kind and metadata. */
export const kindSchema = (description: string, properties: Record<string, ObjectSchema>): ObjectSchema => ({
  ...structSchema({ apiVersion: textSchema, kind: textSchema, metadata: metadataSchema, ...properties }),
  description,
});

export const conditionSchema = structSchema({
  type: textSchema,
  status: textSchema,
  reason: textSchema,
  message: textSchema,
  observedGeneration: int64Schema,
  lastTransitionTime: timeSchema,
  lastUpdateTime: timeSchema,
  lastProbeTime: timeSchema,
  lastHeartbeatTime: timeSchema,
});
export const conditionsSchema = keyedListSchema(['type'], conditionSchema);

export const objectReferenceSchema = atomicObjectSchema({
  apiVersion: textSchema,
  kind: textSchema,
  namespace: textSchema,
  name: textSchema,
  uid: textSchema,
  resourceVersion: textSchema,
  fieldPath: textSchema,
});
export const labelSelectorSchema = atomicObjectSchema({
  matchLabels: mapSchema(textSchema),
  matchExpressions: atomicListSchema(
    structSchema({ key: textSchema, operator: textSchema, values: atomicListSchema(textSchema) }),
  ),
});
