import type { ObjectSchema } from '../schema/schema.ts';
import { schemaOfModel } from './model-schema.ts';

export type Subresource = 'status' | 'finalize' | 'token' | 'scale' | 'eviction';

/** Where a definition's subresource `scale` reads and writes. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** One resource of one version: its path, its names, and the rules of its strategy. */
export interface ApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Key of the table in the store; two resources of the same objects share it. */
  readonly storage: string;
  readonly schema: ObjectSchema;
  readonly subresources: readonly Subresource[];
  /** The server sets `metadata.generation`. */
  readonly generation: boolean;
  /** PUT of an unknown name creates it. */
  readonly createOnUpdate: boolean;
  /** PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** Only create, and the answer is not stored. */
  readonly virtual: boolean;
  /** Paths for field selectors besides metadata.name and metadata.namespace. */
  readonly selectable: readonly string[];
  /** The definition of a custom resource. */
  readonly definition?: {
    readonly name: string;
    readonly uid: string;
    readonly columns: readonly PrinterColumn[];
    readonly scale: ScalePaths | undefined;
  };
}

/** One of a CRD's additionalPrinterColumns. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export const apiVersionOfResource = (resource: { group: string; version: string }): string =>
  resource.group ? `${resource.group}/${resource.version}` : resource.version;

interface Options extends Partial<Omit<ApiResource, 'group' | 'version' | 'kind' | 'plural' | 'schema'>> {
  /** The model of the schema; default: V1 and the kind. */
  readonly model?: string;
}

function defineResource(
  apiVersion: string,
  kind: string,
  { model = `V1${kind}`, ...options }: Options = {},
): ApiResource {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const plural = kind.toLowerCase().replace(/y$/, 'ie').concat('s');
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    storage: group ? `${group}/${plural}` : plural,
    schema: schemaOfModel(model),
    subresources: [],
    generation: false,
    createOnUpdate: false,
    unconditionalUpdate: true,
    virtual: false,
    selectable: [],
    ...options,
  };
}

const cluster = { namespaced: false } as const;
const review = { namespaced: false, virtual: true } as const;
const workload = { generation: true, categories: ['all'], subresources: ['status'] } as const;
const rbac = 'rbac.authorization.k8s.io/v1';
const extension = { ...cluster, categories: ['api-extensions'], subresources: ['status'], generation: true } as const;
const eventFields = [
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
    (field) => `involvedObject.${field}`,
  ),
  ...['reason', 'reportingComponent', 'source', 'type'],
];
const podFields = ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'];

/** Every built-in resource: those that the product, the operator and the tests use. */
export const builtinResources: readonly ApiResource[] = [
  defineResource('v1', 'Namespace', {
    ...{ ...cluster, shortNames: ['ns'], subresources: ['status', 'finalize'], selectable: ['status.phase'] },
  }),
  defineResource('v1', 'Secret', { selectable: ['type'] }),
  defineResource('v1', 'ConfigMap', { shortNames: ['cm'] }),
  defineResource('v1', 'ServiceAccount', { shortNames: ['sa'], subresources: ['token'] }),
  defineResource('v1', 'Event', {
    ...{ model: 'CoreV1Event', shortNames: ['ev'], createOnUpdate: true, selectable: eventFields },
  }),
  defineResource('v1', 'Node', {
    ...{ ...cluster, shortNames: ['no'], subresources: ['status'], selectable: ['spec.unschedulable'] },
  }),
  defineResource('v1', 'Pod', {
    ...{ ...workload, shortNames: ['po'], subresources: ['status', 'eviction'], selectable: podFields },
  }),
  defineResource('v1', 'PersistentVolume', { ...cluster, shortNames: ['pv'], subresources: ['status'] }),
  defineResource('v1', 'PersistentVolumeClaim', { shortNames: ['pvc'], subresources: ['status'] }),
  defineResource('v1', 'Service', {
    ...{ shortNames: ['svc'], categories: ['all'], subresources: ['status'], createOnUpdate: true },
  }),
  defineResource('coordination.k8s.io/v1', 'Lease', { createOnUpdate: true, unconditionalUpdate: false }),
  defineResource('apps/v1', 'Deployment', { ...workload, shortNames: ['deploy'] }),
  defineResource('apps/v1', 'ReplicaSet', { ...workload, shortNames: ['rs'] }),
  defineResource('apps/v1', 'DaemonSet', { ...workload, shortNames: ['ds'] }),
  defineResource('policy/v1', 'PodDisruptionBudget', {
    ...{ shortNames: ['pdb'], generation: true, subresources: ['status'], unconditionalUpdate: false },
  }),
  defineResource('storage.k8s.io/v1', 'VolumeAttachment', { ...cluster, subresources: ['status'] }),
  defineResource('batch/v1', 'Job', { ...workload, selectable: ['status.successful'] }),
  defineResource(rbac, 'Role', { createOnUpdate: true }),
  defineResource(rbac, 'RoleBinding', { createOnUpdate: true }),
  defineResource(rbac, 'ClusterRole', { ...cluster, createOnUpdate: true }),
  defineResource(rbac, 'ClusterRoleBinding', { ...cluster, createOnUpdate: true }),
  defineResource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
    ...{ ...extension, shortNames: ['crd', 'crds'], unconditionalUpdate: false },
  }),
  defineResource('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', extension),
  defineResource('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding', {
    ...{ ...extension, subresources: [] },
  }),
  defineResource('authentication.k8s.io/v1', 'SelfSubjectReview', review),
  defineResource('authentication.k8s.io/v1', 'TokenReview', review),
  ...['SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'].map((kind) =>
    defineResource('authorization.k8s.io/v1', kind, review),
  ),
];

/** The body of the subresource `eviction`. */
export const evictionSchema = schemaOfModel('V1Eviction');

/** The body of the subresource `token`. */
export const tokenRequestSchema = schemaOfModel('AuthenticationV1TokenRequest');
