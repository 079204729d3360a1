import type { SimulatedEtcdCluster } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';

/** A kube-apiserver of one control plane. It answers on the node's own addresses, at the port of its configuration. */
export interface WorkloadApiServer {
  /** Why it has ended by itself; undefined while it runs. */
  readonly ended: string | undefined;
  /** Ends it as a fault of its own would: `ended` says so, and whoever looks after it starts another. */
  crash(): Promise<void>;
  /** Ends it at once, as with the power. */
  close(): Promise<void>;
}

/** What runs when the static pod of kube-apiserver does. */
export interface WorkloadBackend {
  /**
   * Starts it with what the node's configuration says, against the data of this cluster, and resolves when it answers.
   * Rejects with a sentence when it does not come up, or when the node goes down before.
   */
  start(node: TalosNode, cluster: SimulatedEtcdCluster): Promise<WorkloadApiServer>;
  /** Ends what still runs and forgets what was stored. The nodes are off by then. */
  close(): Promise<void>;
}
