import type { Schema } from '../schema/schema.ts';
import * as admission from './admission.ts';
import * as core from './core.ts';
import { customResourceDefinition } from './definition.ts';
import { node } from './node.ts';
import { kind, object, text } from './parts.ts';
import { pod } from './pod.ts';
import * as rbac from './rbac.ts';
import * as review from './review.ts';
import * as workloads from './workloads.ts';

export type Subresource = 'status' | 'scale' | 'finalize' | 'token' | 'binding' | 'approval';

/** One resource of one version: where it lives, what it is called, and the rules of its strategy. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Key of the table in the store; resources that are two views of one thing share it. */
  readonly storage: string;
  readonly schema: Schema;
  readonly subresources: readonly Subresource[];
  /** `metadata.generation` is kept. */
  readonly generation: boolean;
  /** PUT of a name that does not exist creates it. */
  readonly createOnUpdate: boolean;
  /** PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** Only create, and the answer is not stored. */
  readonly virtual: boolean;
  /** Paths that a field selector may name beside metadata.name and metadata.namespace. */
  readonly selectable: readonly string[];
  /** The definition behind a custom resource. */
  readonly definition?: { readonly name: string; readonly uid: string; readonly columns: readonly Column[] };
}

/** One of a CRD's additionalPrinterColumns. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export const apiVersionOf = (resource: { group: string; version: string }): string =>
  resource.group ? `${resource.group}/${resource.version}` : resource.version;

type Options = Partial<Omit<Resource, 'group' | 'version' | 'kind' | 'plural' | 'schema'>>;

const define = (apiVersion: string, kindName: string, plural: string, schema: Schema, options: Options = {}) => {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const resource: Resource = {
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
const asked = { namespaced: false, virtual: true } as const;
const workload = { generation: true, categories: ['all'], subresources: ['status', 'scale'] } as const;
const scalable: Options = workload;

/** Every built-in resource that is served. */
export const builtin: readonly Resource[] = [
  define('v1', 'Namespace', 'namespaces', core.namespace, {
    ...cluster,
    shortNames: ['ns'],
    subresources: ['status', 'finalize'],
    selectable: ['status.phase'],
  }),
  define('v1', 'Secret', 'secrets', core.secret, { selectable: ['type'] }),
  define('v1', 'ConfigMap', 'configmaps', core.configMap, { shortNames: ['cm'] }),
  define('v1', 'ServiceAccount', 'serviceaccounts', core.serviceAccount, {
    shortNames: ['sa'],
    subresources: ['token'],
  }),
  define('v1', 'Event', 'events', core.coreEvent, {
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
  define('events.k8s.io/v1', 'Event', 'events', core.event, {
    shortNames: ['ev'],
    createOnUpdate: true,
    storage: 'events',
    selectable: ['regarding.kind', 'regarding.name', 'regarding.namespace', 'regarding.uid', 'reason', 'type'],
  }),
  define('v1', 'Node', 'nodes', node, {
    ...cluster,
    shortNames: ['no'],
    subresources: ['status'],
    selectable: ['spec.unschedulable'],
  }),
  define('v1', 'Pod', 'pods', pod, {
    shortNames: ['po'],
    categories: ['all'],
    subresources: ['status', 'binding'],
    generation: true,
    selectable: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  }),
  define('v1', 'Service', 'services', core.service, {
    shortNames: ['svc'],
    categories: ['all'],
    subresources: ['status'],
    createOnUpdate: true,
  }),
  define('v1', 'Endpoints', 'endpoints', core.endpoints, {
    shortNames: ['ep'],
    singular: 'endpoints',
    listKind: 'EndpointsList',
    createOnUpdate: true,
  }),
  define('v1', 'ResourceQuota', 'resourcequotas', core.resourceQuota, {
    shortNames: ['quota'],
    subresources: ['status'],
  }),
  define('v1', 'LimitRange', 'limitranges', core.limitRange, { shortNames: ['limits'] }),
  define('coordination.k8s.io/v1', 'Lease', 'leases', core.lease, {
    createOnUpdate: true,
    unconditionalUpdate: false,
  }),
  define('apps/v1', 'Deployment', 'deployments', workloads.deployment, { ...scalable, shortNames: ['deploy'] }),
  define('apps/v1', 'ReplicaSet', 'replicasets', workloads.replicaSet, { ...scalable, shortNames: ['rs'] }),
  define('apps/v1', 'StatefulSet', 'statefulsets', workloads.statefulSet, { ...scalable, shortNames: ['sts'] }),
  define('apps/v1', 'DaemonSet', 'daemonsets', workloads.daemonSet, {
    ...workload,
    subresources: ['status'],
    shortNames: ['ds'],
  }),
  define('batch/v1', 'Job', 'jobs', workloads.job, {
    ...workload,
    subresources: ['status'],
    selectable: ['status.successful'],
  }),
  define('rbac.authorization.k8s.io/v1', 'Role', 'roles', rbac.role, { createOnUpdate: true }),
  define('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', rbac.roleBinding, { createOnUpdate: true }),
  define('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', rbac.clusterRole, {
    ...cluster,
    createOnUpdate: true,
  }),
  define('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', rbac.clusterRoleBinding, {
    ...cluster,
    createOnUpdate: true,
  }),
  define('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', customResourceDefinition, {
    ...cluster,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    subresources: ['status'],
    generation: true,
    unconditionalUpdate: false,
  }),
  define(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    admission.validatingAdmissionPolicy,
    { ...cluster, categories: ['api-extensions'], subresources: ['status'], generation: true },
  ),
  define(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    admission.validatingAdmissionPolicyBinding,
    { ...cluster, categories: ['api-extensions'], generation: true },
  ),
  define('authentication.k8s.io/v1', 'SelfSubjectReview', 'selfsubjectreviews', review.selfSubjectReview, asked),
  define('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', review.tokenReview, asked),
  define(
    'authorization.k8s.io/v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
    review.selfSubjectAccessReview,
    asked,
  ),
  define(
    'authorization.k8s.io/v1',
    'SelfSubjectRulesReview',
    'selfsubjectrulesreviews',
    review.selfSubjectRulesReview,
    asked,
  ),
  define('authorization.k8s.io/v1', 'SubjectAccessReview', 'subjectaccessreviews', review.subjectAccessReview, asked),
  define(
    'authorization.k8s.io/v1',
    'LocalSubjectAccessReview',
    'localsubjectaccessreviews',
    review.subjectAccessReview,
    { virtual: true },
  ),
];

/** Kinds that exist only as bodies of a sub-resource. */
export const tokenRequestSchema = review.tokenRequest;
export const scaleSchema = kind('Scale represents a scaling request for a resource.', {
  spec: object({ replicas: { type: 'integer' } }),
  status: object({ replicas: { type: 'integer' }, selector: text }),
});
