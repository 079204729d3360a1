import type { Subject } from '../../kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../kube/resource.ts';
import type { Condition } from '../conditions.ts';
import { openmcpGroup } from '../names.ts';

/** The fields that all openMCP status objects share. The CRDs require `phase` and `observedGeneration`. */
export interface CommonStatus {
  observedGeneration: number;
  phase: string;
  conditions?: Condition[];
}

export interface NamedRef {
  name: string;
}
export interface NamespacedRef {
  namespace: string;
  name: string;
}

const openmcpType = { group: openmcpGroup, version: 'v1alpha1' } as const;

export interface ClusterProfile extends KubeObject {
  spec: {
    providerRef: NamedRef;
    providerConfigRef: NamedRef;
    supportedVersions: { version: string; deprecated?: boolean }[];
  };
}
export const ClusterProfile: ResourceType<ClusterProfile> = {
  ...openmcpType,
  kind: 'ClusterProfile',
  plural: 'clusterprofiles',
  namespaced: false,
};

export interface Cluster extends KubeObject {
  spec: {
    profile: string;
    clusterConfigs?: NamedRef[];
    kubernetes?: { version?: string };
    purposes?: string[];
    tenancy: 'Exclusive' | 'Shared';
  };
  status?: CommonStatus & {
    /** Deprecated in favour of `endpoints`; still written for older clients. */
    apiServer?: string;
    endpoints?: { name: string; url: string }[];
    providerStatus?: Record<string, unknown>;
  };
}
export const Cluster: ResourceType<Cluster> = { ...openmcpType, kind: 'Cluster', plural: 'clusters', namespaced: true };

/** Well-known names in `status.endpoints`. */
export const endpointNames = { external: 'apiserver-external', internal: 'apiserver-internal' } as const;

export interface PermissionRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

export interface Permission {
  name?: string;
  namespace?: string;
  disableAutomaticNamespaceCreation?: boolean;
  rules: PermissionRule[];
}

export interface RoleRef {
  kind: 'Role' | 'ClusterRole';
  name: string;
  namespace?: string;
}

/** Access for the users of an OIDC issuer. The API server fills in the claims. */
export interface OidcAccess {
  /** Also the default prefix of users and groups, followed by a colon. */
  name: string;
  issuer: string;
  clientID: string;
  usernameClaim?: string;
  /** Empty: none. */
  usernamePrefix?: string | null;
  groupsClaim?: string;
  /** Empty: none. */
  groupsPrefix?: string | null;
  extraScopes?: string[];
  roleBindings?: { subjects: Subject[]; roleRefs: RoleRef[] }[];
  /** Roles that are created without a binding. */
  roles?: Permission[];
}

export interface AccessRequest extends KubeObject {
  spec: {
    clusterRef?: NamespacedRef;
    requestRef?: NamespacedRef;
    token?: { permissions?: Permission[]; roleRefs?: RoleRef[] };
    oidc?: OidcAccess;
    ttl?: string;
  };
  status?: CommonStatus & { secretRef?: NamedRef };
}
export const AccessRequest: ResourceType<AccessRequest> = {
  ...openmcpType,
  kind: 'AccessRequest',
  plural: 'accessrequests',
  namespaced: true,
};

export const openmcpPhases = {
  ready: 'Ready',
  progressing: 'Progressing',
  terminating: 'Terminating',
  pending: 'Pending',
  granted: 'Granted',
  denied: 'Denied',
} as const;

/** The published external URL of a Cluster's API server. It is published once the API server has answered. */
export const externalEndpointUrl = (cluster: Cluster | undefined): string | undefined =>
  cluster?.status?.endpoints?.find(({ name }) => name === endpointNames.external)?.url;
