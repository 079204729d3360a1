import type { Schema } from '../schema/schema.ts';

/** Words to write schemas of built-in kinds with. */

export const text: Schema = { type: 'string' };
export const integer: Schema = { type: 'integer', format: 'int32' };
export const long: Schema = { type: 'integer', format: 'int64' };
export const flag: Schema = { type: 'boolean' };
/** RFC 3339, seconds. */
export const time: Schema = { type: 'string', format: 'date-time' };
/** RFC 3339 with exactly six fraction digits. */
export const microTime: Schema = { type: 'string', format: 'micro-time' };
export const base64: Schema = { type: 'string', format: 'byte' };
export const intOrText: Schema = { 'x-kubernetes-int-or-string': true };
/** Parts that nobody here looks into. */
export const free: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });
export const atomicMapOf = (values: Schema): Schema => ({ ...mapOf(values), 'x-kubernetes-map-type': 'atomic' });
export const listOf = (items: Schema): Schema => ({ type: 'array', items, 'x-kubernetes-list-type': 'atomic' });
export const setOf = (items: Schema): Schema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'set',
  'x-kubernetes-patch-strategy': 'merge',
});

/** A list of objects that are told apart by `keys`; a strategic merge patch looks at the first key only. */
export const listBy = (keys: readonly string[], items: Schema): Schema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-merge-key': keys[0] ?? '',
  'x-kubernetes-patch-strategy': 'merge',
});

export const object = (properties: Record<string, Schema>, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
});
export const atomicObject = (properties: Record<string, Schema>): Schema => ({
  ...object(properties),
  'x-kubernetes-map-type': 'atomic',
});

export const metadata: Schema = {
  ...object({
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: long,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: long,
    labels: mapOf(text),
    annotations: mapOf(text),
    ownerReferences: listBy(
      ['uid'],
      atomicObject({ apiVersion: text, kind: text, name: text, uid: text, controller: flag, blockOwnerDeletion: flag }),
    ),
    finalizers: setOf(text),
    managedFields: listOf(
      object({
        manager: text,
        operation: text,
        apiVersion: text,
        time,
        fieldsType: text,
        fieldsV1: free,
        subresource: text,
      }),
    ),
  }),
  description:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
};

/** A whole kind: its own fields beside apiVersion, kind and metadata. */
export const kind = (description: string, properties: Record<string, Schema>): Schema => ({
  ...object({ apiVersion: text, kind: text, metadata, ...properties }),
  description,
});

export const condition = object({
  type: text,
  status: text,
  reason: text,
  message: text,
  observedGeneration: long,
  lastTransitionTime: time,
  lastUpdateTime: time,
  lastProbeTime: time,
  lastHeartbeatTime: time,
});
export const conditions = listBy(['type'], condition);

export const objectReference = atomicObject({
  apiVersion: text,
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  resourceVersion: text,
  fieldPath: text,
});
export const labelSelector = atomicObject({
  matchLabels: mapOf(text),
  matchExpressions: listOf(object({ key: text, operator: text, values: listOf(text) })),
});
