import type {
  RbacV1Subject,
  V1ConfigMap,
  V1LeaseSpec,
  V1Namespace,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
  V1SubjectAccessReview,
  V1TokenReview,
  V1UserInfo,
} from '@kubernetes/client-node';
import type { KubeObject, ResourceType } from './resource.ts';

/**
 * The built-in kinds that this program uses, reduced to the fields that it uses. Their types are those of client-node,
 * except metadata and times: client-node turns times into `Date`, and here they are strings, as on the wire.
 */

/** The values of `data` are Base64. */
export interface Secret extends KubeObject, Pick<V1Secret, 'type' | 'data' | 'immutable'> {}
export const Secret: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
};

export interface ConfigMap extends KubeObject, Pick<V1ConfigMap, 'data' | 'immutable'> {}
export const ConfigMap: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
};

export interface Namespace extends KubeObject, Pick<V1Namespace, 'status'> {}
export const Namespace: ResourceType<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};

export interface ServiceAccount extends KubeObject, Pick<V1ServiceAccount, 'automountServiceAccountToken'> {}
export const ServiceAccount: ResourceType<ServiceAccount> = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

/**
 * A Node in the form of `kubectl get nodes`. It has 200 bytes instead of the 10,000 that a kubelet reports every five
 * minutes with the list of its images.
 */
export interface NodeRow extends KubeObject {
  /** `Ready`, `NotReady` or `Unknown`, with further states after a comma, e.g. `Ready,SchedulingDisabled`. */
  status: string;
}
export const NodeRow: ResourceType<NodeRow> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  fromRow: (cell) => ({ status: cell('Status') }),
};

export type PolicyRule = V1PolicyRule;
export interface Role extends KubeObject, Pick<V1Role, 'rules'> {}
export type Subject = RbacV1Subject;
export interface RoleBinding extends KubeObject, Pick<V1RoleBinding, 'roleRef' | 'subjects'> {}
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;
export const Role: ResourceType<Role> = { ...rbac, kind: 'Role', plural: 'roles', namespaced: true };
export const ClusterRole: ResourceType<Role> = {
  ...rbac,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
};
export const RoleBinding: ResourceType<RoleBinding> = {
  ...rbac,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
export const ClusterRoleBinding: ResourceType<RoleBinding> = {
  ...rbac,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
};

/** Times are RFC 3339 with exactly six fraction digits. The API server rejects any other number of digits. */
export interface Lease extends KubeObject {
  spec?: Omit<V1LeaseSpec, 'acquireTime' | 'renewTime'> & { acquireTime?: string; renewTime?: string };
}
export const Lease: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

/** The user of a token, as the API server reports it. */
export type TokenUser = V1UserInfo;
export interface TokenReview extends KubeObject, Pick<V1TokenReview, 'spec' | 'status'> {}
export const TokenReview: ResourceType<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
};
export interface SubjectAccessReview extends KubeObject, Pick<V1SubjectAccessReview, 'spec' | 'status'> {}
export const SubjectAccessReview: ResourceType<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

export interface CustomResourceDefinition extends KubeObject {
  spec: Record<string, unknown>;
  status?: { conditions?: { type: string; status: string; reason?: string; message?: string }[] };
}
export const CustomResourceDefinition: ResourceType<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

export interface AdmissionPolicy extends KubeObject {
  spec: Record<string, unknown>;
}
const admission = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const;
/** Served from Kubernetes 1.30 on. */
export const ValidatingAdmissionPolicy: ResourceType<AdmissionPolicy> = {
  ...admission,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
};
/** A policy takes effect only through a binding. */
export const ValidatingAdmissionPolicyBinding: ResourceType<AdmissionPolicy> = {
  ...admission,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
};
