import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';

/** As much of a Node as tests touch. The provider itself reads what is printed of it (`NodeRow`). */
export interface KubeNode extends KubeObject {
  spec?: { unschedulable?: boolean; providerID?: string; taints?: { key: string; value?: string; effect: string }[] };
  status?: {
    conditions?: { type: string; status: string }[];
    nodeInfo?: { kubeletVersion: string };
    addresses?: { type: string; address: string }[];
  };
}
export const KubeNode: ResourceType<KubeNode> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
};
