import type { Condition } from '../../../api/conditions.ts';
import type { KubeObject, ResourceType } from '../../../kube/resource.ts';

/** How consumers reach a cluster: a `cluster` of a kubeconfig, without any secret. */
export interface AccessProvider {
  readonly name: string;
  readonly cluster: {
    readonly server: string;
    readonly 'certificate-authority-data': string;
    readonly extensions: readonly { readonly name: string; readonly extension: object }[];
  };
}

export interface ClusterAttribute {
  readonly name: string;
  readonly value: string;
  readonly lastObservedTime?: string;
}

/** `ClusterProfile` of SIG Multicluster. That of openMCP is another kind of the same name. */
export interface InventoryProfile extends KubeObject {
  spec: { readonly displayName?: string; readonly clusterManager: { readonly name: string } };
  status?: {
    readonly version?: { readonly kubernetes?: string };
    readonly properties?: readonly ClusterAttribute[];
    readonly conditions?: readonly Condition[];
    readonly accessProviders?: readonly AccessProvider[];
  };
}
export const InventoryProfile: ResourceType<InventoryProfile> = {
  group: 'multicluster.x-k8s.io',
  version: 'v1alpha1',
  kind: 'ClusterProfile',
  plural: 'clusterprofiles',
  namespaced: true,
};

/** One fact of a cluster, inside of it. */
export interface ClusterProperty extends KubeObject {
  spec: { readonly value: string };
}
export const ClusterProperty: ResourceType<ClusterProperty> = {
  group: 'about.k8s.io',
  version: 'v1beta1',
  kind: 'ClusterProperty',
  plural: 'clusterproperties',
  namespaced: false,
};
