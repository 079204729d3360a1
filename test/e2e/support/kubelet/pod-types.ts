import type { KubeObject, ResourceType } from '../../../../src/kube/resource.ts';

/** The source of a value in the Pod's own object. */
export interface FieldRef {
  readonly fieldPath: string;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: FieldRef };
}

export interface HttpProbe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
  readonly successThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
  readonly startupProbe?: HttpProbe;
  readonly livenessProbe?: HttpProbe;
  readonly readinessProbe?: HttpProbe;
}

interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

/** A part of a projected volume. */
export interface Projection {
  readonly serviceAccountToken?: {
    readonly path: string;
    readonly expirationSeconds?: number;
    readonly audience?: string;
  };
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[] };
  readonly downwardAPI?: { readonly items?: readonly { readonly path: string; readonly fieldRef?: FieldRef }[] };
}

export interface Volume {
  readonly name: string;
  readonly projected?: { readonly sources?: readonly Projection[] };
  readonly secret?: { readonly secretName: string; readonly items?: readonly KeyToPath[] };
  readonly emptyDir?: object;
}

/** The state of a container: one of the three. */
export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly signal?: number;
    readonly reason: string;
    readonly startedAt: string;
    readonly finishedAt: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly restartCount: number;
  readonly ready: boolean;
  readonly started: boolean;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
}

export interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly lastTransitionTime: string;
}

export interface PodStatus {
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly conditions?: readonly PodCondition[];
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly startTime?: string;
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

/** A Pod, cut down to the fields that {@link Kubelet} reads and writes. */
export interface KubePod extends KubeObject {
  metadata: KubeObject['metadata'] & { deletionGracePeriodSeconds?: number };
  spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
  status?: PodStatus;
}
export const KubePod: ResourceType<KubePod> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
};
