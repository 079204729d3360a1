import type { KubeObject, ResourceType } from '../resource.ts';

/** The kinds that concern a drain, reduced to the fields that it reads. Their content comes from the users of a cluster. */

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; providerID?: string };
  status?: {
    conditions?: readonly NodeCondition[];
    addresses?: readonly { type: string; address: string }[];
    nodeInfo?: { bootID?: string; machineID?: string; systemUUID?: string };
    volumesAttached?: readonly { name: string }[];
  };
}
export const Node: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };

export interface NodeCondition {
  type: string;
  status: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface Pod extends KubeObject {
  spec?: {
    nodeName?: string;
    terminationGracePeriodSeconds?: number;
    volumes?: readonly PodVolume[];
  };
  status?: { phase?: string };
}
export const Pod: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };

interface PodVolume {
  name: string;
  persistentVolumeClaim?: { claimName?: string };
  /** A generic ephemeral volume: its claim is named after the Pod and the volume. */
  ephemeral?: object;
}

export const DaemonSet: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  namespaced: true,
};

export interface PersistentVolumeClaim extends KubeObject {
  spec?: { volumeName?: string };
}
export const PersistentVolumeClaim: ResourceType<PersistentVolumeClaim> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  namespaced: true,
};

export interface PersistentVolume extends KubeObject {
  spec?: { csi?: { driver?: string; volumeHandle?: string } };
}
export const PersistentVolume: ResourceType<PersistentVolume> = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  namespaced: false,
};

export interface VolumeAttachment extends KubeObject {
  spec?: { nodeName?: string; source?: { persistentVolumeName?: string } };
  status?: { attached?: boolean };
}
export const VolumeAttachment: ResourceType<VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
};
