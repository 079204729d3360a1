import * as models from '@kubernetes/client-node';
import type { ObjectSchema } from '../schema/schema.ts';

/**
 * Schemas of the built-in types, made of the models of @kubernetes/client-node. The models have the names and types of
 * all fields; the tables below add what they lack: keys of lists, atomic types, and defaults.
 */

type Extensions = Readonly<Record<string, ObjectSchema>>;

const anything: ObjectSchema = {};
const freeForm: ObjectSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const intOrString: ObjectSchema = { 'x-kubernetes-int-or-string': true };

/** A list of objects with the keys `keys`; a strategic merge patch uses only the first key. */
const keyedBy = (...keys: readonly string[]): ObjectSchema => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-merge-key': keys[0] ?? '',
  'x-kubernetes-patch-strategy': 'merge',
});
const set: ObjectSchema = { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' };
const atomic: ObjectSchema = { 'x-kubernetes-map-type': 'atomic' };

/** Properties of a field's schema besides its type, by model and field. Other lists are atomic. */
const extensions: Readonly<Record<string, Extensions>> = {
  V1ObjectMeta: { ownerReferences: keyedBy('uid'), finalizers: set },
  V1ServiceAccount: { imagePullSecrets: keyedBy('name'), secrets: keyedBy('name') },
  V1ServiceSpec: { ports: keyedBy('port', 'protocol'), selector: atomic },
  V1ServicePort: { protocol: { default: 'TCP' } },
  V1NodeSpec: { podCIDRs: set },
  V1NodeStatus: { addresses: keyedBy('type') },
  V1PodSpec: {
    containers: keyedBy('name'),
    initContainers: keyedBy('name'),
    volumes: keyedBy('name'),
    imagePullSecrets: keyedBy('name'),
    nodeSelector: atomic,
  },
  V1PodStatus: { podIPs: keyedBy('ip') },
  V1Container: {
    env: keyedBy('name'),
    ports: keyedBy('containerPort', 'protocol'),
    volumeMounts: keyedBy('mountPath'),
  },
  V1ContainerPort: { protocol: { default: 'TCP' } },
  V1DeploymentSpec: {
    replicas: { default: 1 },
    revisionHistoryLimit: { default: 10 },
    progressDeadlineSeconds: { default: 600 },
  },
  V1ReplicaSetSpec: { replicas: { default: 1 } },
  V1JobSpec: {
    parallelism: { default: 1 },
    completions: { default: 1 },
    backoffLimit: { default: 6 },
    manualSelector: { default: false },
    completionMode: { default: 'NonIndexed' },
    suspend: { default: false },
  },
  V1JSONSchemaProps: { 'x-kubernetes-validations': keyedBy('rule') },
  V1ValidatingAdmissionPolicySpec: { matchConditions: keyedBy('name'), variables: keyedBy('name') },
};

const atomicModels =
  /^V1(OwnerReference|ObjectReference|LocalObjectReference|LabelSelector|RoleRef|EndpointAddress|.*KeySelector)$|^RbacV1Subject$/;

/** Parts of a Pod that are large and that nothing here reads. */
const freeFormModels = /^V1(Volume|Probe|Lifecycle|Affinity|EphemeralContainer|.*SecurityContext)$/;

/** Fields whose values are quantities, which the models declare as texts: a number is accepted as well. */
const quantities = /^(limits|requests|capacity|allocatable|overhead)$/;

const known = new Map<string, ObjectSchema>();

/** The schema of one model, e.g. `V1PodSpec`. A model may contain itself: its schema is completed after it is known. */
export function schemaOfModel(name: string): ObjectSchema {
  const before = known.get(name);
  if (before) return before;
  const model = (models as Readonly<Record<string, unknown>>)[name] as typeof models.V1Pod | undefined;
  if (!model?.getAttributeTypeMap) throw new Error(`@kubernetes/client-node has no model ${name}`);
  const properties: Record<string, ObjectSchema> = {};
  const schema: ObjectSchema = { type: 'object', properties, ...(atomicModels.test(name) ? atomic : {}) };
  known.set(name, schema);
  for (const { baseName, type, format } of model.getAttributeTypeMap()) {
    properties[baseName] = { ...fieldSchemaOf(baseName, type, format), ...extensions[name]?.[baseName] };
  }
  // A schema or a boolean: the models have no type for it.
  if (name === 'V1JSONSchemaProps') {
    for (const field of ['items', 'additionalProperties', 'additionalItems']) properties[field] = { properties };
  }
  return schema;
}

function fieldSchemaOf(field: string, type: string, format: string): ObjectSchema {
  if (field === 'conditions') return { ...typeSchemaOf(type, format), ...keyedBy('type') };
  if (quantities.test(field)) return { type: 'object', additionalProperties: intOrString };
  return typeSchemaOf(type, format);
}

function typeSchemaOf(type: string, format: string): ObjectSchema {
  const item = /^Array<(.*)>$/.exec(type)?.[1];
  if (item) return { type: 'array', items: typeSchemaOf(item, format), 'x-kubernetes-list-type': 'atomic' };
  const value = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (value) return { type: 'object', additionalProperties: typeSchemaOf(value, format) };
  switch (type) {
    case 'string':
      return { type: 'string', ...(format === 'byte' ? { format } : {}) };
    case 'number':
      return format === 'double' ? { type: 'number' } : { type: 'integer', format };
    case 'boolean':
      return { type: 'boolean' };
    case 'Date':
      return { type: 'string', format: 'date-time' };
    case 'V1MicroTime':
      return { type: 'string', format: 'micro-time' };
    case 'IntOrString':
      return intOrString;
    case 'any':
      return anything;
    case 'object':
      return freeForm;
    default:
      return freeFormModels.test(type) ? freeFormWithName(type) : schemaOfModel(type);
  }
}

/** Volumes are merged by their name. */
const freeFormWithName = (type: string): ObjectSchema =>
  type === 'V1Volume' ? { ...freeForm, properties: { name: { type: 'string' } } } : freeForm;

export const metadataSchema: ObjectSchema = schemaOfModel('V1ObjectMeta');
