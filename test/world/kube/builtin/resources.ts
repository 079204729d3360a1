import type { ObjectSchema } from '../schema/schema.ts';
import * as admission from './admission.ts';
import * as core from './core.ts';
import { customResourceDefinitionSchema } from './definition.ts';
import { nodeSchema } from './node.ts';
import { podSchema } from './pod.ts';
import * as rbac from './rbac.ts';
import * as review from './review.ts';
import { kindSchema, structSchema, textSchema } from './schema-parts.ts';
import * as workloads from './workloads.ts';

export type Subresource = 'status' | 'scale' | 'finalize' | 'token' | 'binding' | 'approval';

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
  readonly definition?: { readonly name: string; readonly uid: string; readonly columns: readonly PrinterColumn[] };
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

type Options = Partial<Omit<ApiResource, 'group' | 'version' | 'kind' | 'plural' | 'schema'>>;

const defineResource = (
  apiVersion: string,
  kindName: string,
  plural: string,
  schema: ObjectSchema,
  options: Options = {},
) => {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const resource: ApiResource = {
    group,
    version: apiVersion.slice(slash + 1),
    kind: kindName,
    listKind: `${kindName}List`,
    plural,
    singular: kindName.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    storage: group ? `${group}/${plural}` : plural,
    schema,
    subresources: [],
    generation: false,
    createOnUpdate: false,
    unconditionalUpdate: true,
    virtual: false,
    selectable: [],
    ...options,
  };
  return resource;
};

const cluster = { namespaced: false } as const;
const reviewOptions = { namespaced: false, virtual: true } as const;
const workload = { generation: true, categories: ['all'], subresources: ['status', 'scale'] } as const;
const scalable: Options = workload;

/** Every built-in resource. */
export const builtinResources: readonly ApiResource[] = [
  defineResource('v1', 'Namespace', 'namespaces', core.namespaceSchema, {
    ...cluster,
    shortNames: ['ns'],
    subresources: ['status', 'finalize'],
    selectable: ['status.phase'],
  }),
  defineResource('v1', 'Secret', 'secrets', core.secretSchema, { selectable: ['type'] }),
  defineResource('v1', 'ConfigMap', 'configmaps', core.configMapSchema, { shortNames: ['cm'] }),
  defineResource('v1', 'ServiceAccount', 'serviceaccounts', core.serviceAccountSchema, {
    shortNames: ['sa'],
    subresources: ['token'],
  }),
  defineResource('v1', 'Event', 'events', core.coreEventSchema, {
    shortNames: ['ev'],
    createOnUpdate: true,
    selectable: [
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
  }),
  defineResource('events.k8s.io/v1', 'Event', 'events', core.eventSchema, {
    shortNames: ['ev'],
    createOnUpdate: true,
    storage: 'events',
    selectable: ['regarding.kind', 'regarding.name', 'regarding.namespace', 'regarding.uid', 'reason', 'type'],
  }),
  defineResource('v1', 'Node', 'nodes', nodeSchema, {
    ...cluster,
    shortNames: ['no'],
    subresources: ['status'],
    selectable: ['spec.unschedulable'],
  }),
  defineResource('v1', 'Pod', 'pods', podSchema, {
    shortNames: ['po'],
    categories: ['all'],
    subresources: ['status', 'binding'],
    generation: true,
    selectable: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  }),
  defineResource('v1', 'Service', 'services', core.serviceSchema, {
    shortNames: ['svc'],
    categories: ['all'],
    subresources: ['status'],
    createOnUpdate: true,
  }),
  defineResource('v1', 'Endpoints', 'endpoints', core.endpointsSchema, {
    shortNames: ['ep'],
    singular: 'endpoints',
    listKind: 'EndpointsList',
    createOnUpdate: true,
  }),
  defineResource('v1', 'ResourceQuota', 'resourcequotas', core.resourceQuotaSchema, {
    shortNames: ['quota'],
    subresources: ['status'],
  }),
  defineResource('v1', 'LimitRange', 'limitranges', core.limitRangeSchema, { shortNames: ['limits'] }),
  defineResource('coordination.k8s.io/v1', 'Lease', 'leases', core.leaseSchema, {
    createOnUpdate: true,
    unconditionalUpdate: false,
  }),
  defineResource('apps/v1', 'Deployment', 'deployments', workloads.deploymentSchema, {
    ...scalable,
    shortNames: ['deploy'],
  }),
  defineResource('apps/v1', 'ReplicaSet', 'replicasets', workloads.replicaSetSchema, {
    ...scalable,
    shortNames: ['rs'],
  }),
  defineResource('apps/v1', 'StatefulSet', 'statefulsets', workloads.statefulSetSchema, {
    ...scalable,
    shortNames: ['sts'],
  }),
  defineResource('apps/v1', 'DaemonSet', 'daemonsets', workloads.daemonSetSchema, {
    ...workload,
    subresources: ['status'],
    shortNames: ['ds'],
  }),
  defineResource('batch/v1', 'Job', 'jobs', workloads.jobSchema, {
    ...workload,
    subresources: ['status'],
    selectable: ['status.successful'],
  }),
  defineResource('rbac.authorization.k8s.io/v1', 'Role', 'roles', rbac.roleSchema, { createOnUpdate: true }),
  defineResource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', rbac.roleBindingSchema, {
    createOnUpdate: true,
  }),
  defineResource('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', rbac.clusterRoleSchema, {
    ...cluster,
    createOnUpdate: true,
  }),
  defineResource(
    'rbac.authorization.k8s.io/v1',
    'ClusterRoleBinding',
    'clusterrolebindings',
    rbac.clusterRoleBindingSchema,
    {
      ...cluster,
      createOnUpdate: true,
    },
  ),
  defineResource(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    customResourceDefinitionSchema,
    {
      ...cluster,
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      subresources: ['status'],
      generation: true,
      unconditionalUpdate: false,
    },
  ),
  defineResource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    admission.validatingAdmissionPolicy,
    { ...cluster, categories: ['api-extensions'], subresources: ['status'], generation: true },
  ),
  defineResource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    admission.validatingAdmissionPolicyBinding,
    { ...cluster, categories: ['api-extensions'], generation: true },
  ),
  defineResource(
    'authentication.k8s.io/v1',
    'SelfSubjectReview',
    'selfsubjectreviews',
    review.selfSubjectReviewSchema,
    reviewOptions,
  ),
  defineResource('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', review.tokenReviewSchema, reviewOptions),
  defineResource(
    'authorization.k8s.io/v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
    review.selfSubjectAccessReviewSchema,
    reviewOptions,
  ),
  defineResource(
    'authorization.k8s.io/v1',
    'SelfSubjectRulesReview',
    'selfsubjectrulesreviews',
    review.selfSubjectRulesReviewSchema,
    reviewOptions,
  ),
  defineResource(
    'authorization.k8s.io/v1',
    'SubjectAccessReview',
    'subjectaccessreviews',
    review.subjectAccessReviewSchema,
    reviewOptions,
  ),
  defineResource(
    'authorization.k8s.io/v1',
    'LocalSubjectAccessReview',
    'localsubjectaccessreviews',
    review.subjectAccessReviewSchema,
    { virtual: true },
  ),
];

/** Kinds that exist only as bodies of a subresource. */
export const tokenRequestSchema = review.tokenRequestBodySchema;
export const scaleSchema = kindSchema('Scale represents a scaling request for a resource.', {
  spec: structSchema({ replicas: { type: 'integer' } }),
  status: structSchema({ replicas: { type: 'integer' }, selector: textSchema }),
});
