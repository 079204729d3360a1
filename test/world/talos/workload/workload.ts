import type { SimulatedEtcdCluster } from '../kubernetes/etcd.ts';
import type { PodAccess } from '../kubernetes/run-pods.ts';
import type { TalosNode } from '../node.ts';

/** A kube-apiserver of one control plane. It answers on the node's own addresses, at the port of its configuration. */
export interface WorkloadApiServer {
  /** Why it has ended by itself; undefined while it runs. */
  readonly ended: string | undefined;
  /** Ends it like a crash: `ended` gives the reason, and the kubelet starts another. */
  crash(): Promise<void>;
  /** Ends it at once, like a power cut. */
  close(): Promise<void>;
}

/** Implementation of the static pod of kube-apiserver. */
export interface WorkloadBackend {
  /**
   * Starts it with the node's configuration on the data of this cluster, and resolves when it answers. Rejects with a
   * sentence when it does not start, or when the node stops before.
   */
  start(node: TalosNode, cluster: SimulatedEtcdCluster): Promise<WorkloadApiServer>;
  /** The Pods of a node, for its kubelet. Default: those in the store of the cluster. */
  pods?(node: TalosNode, cluster: SimulatedEtcdCluster): PodAccess;
  /** Ends everything that still runs and deletes the stored data. The nodes are off at this point. */
  close(): Promise<void>;
}
