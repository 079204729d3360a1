import { openmcpGroup } from '../../../src/api/names.ts';
import type { CommonStatus, NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';

/** A request for a cluster. Only the operator reads it; a provider never does. */
export interface ClusterRequest extends KubeObject {
  spec: { purpose: string; waitForClusterDeletion?: boolean };
  status?: CommonStatus & { cluster?: NamespacedRef };
}
export const ClusterRequest: ResourceType<ClusterRequest> = {
  group: openmcpGroup,
  version: 'v1alpha1',
  kind: 'ClusterRequest',
  plural: 'clusterrequests',
  namespaced: true,
};
