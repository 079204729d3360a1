import { setMaxListeners } from 'node:events';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import type { SimulatedEtcdCluster } from './kubernetes/etcd.ts';
import type { TalosNode } from './node.ts';
import { simulatedWorkload } from './workload/simulated-workload.ts';
import type { WorkloadBackend } from './workload/workload.ts';

/** A member of a cluster as discovery tells it: kept for a while after its node is gone. */
export interface Affiliate {
  readonly nodeId: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly machineType: string;
  readonly operatingSystem: string;
  readonly clusterKey: string;
}

/** What all machines of one world share: the wire between them, and what lives as long as any of them. */
export class TalosEnvironment {
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  readonly folder: string;
  readonly log: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** Nodes that run right now. */
  readonly nodes = new Set<TalosNode>();
  readonly etcdClusters = new Map<string, SimulatedEtcdCluster>();
  readonly affiliates = new Map<string, Affiliate>();
  /** Which etcd answers behind `host:port` of a kube-apiserver that runs right now. */
  readonly apiServers = new Map<string, SimulatedEtcdCluster>();
  /** Virtual addresses that somebody holds. */
  readonly vips = new Map<string, SimulatedEtcdCluster>();
  /** Issuers with which no simulated kube-apiserver starts, for a reason that nobody could have known before. */
  readonly refusedIssuers = new Set<string>();
  /** Every node has this address, whatever it is configured to have: for a node that stands alone. */
  readonly onlyAddress: string | undefined;
  /** Port of the Talos API; 50000 in life. */
  readonly apiPort: number;
  /** What runs as kube-apiserver. */
  readonly workload: WorkloadBackend;
  readonly signal: AbortSignal;
  readonly #life = new AbortController();
  readonly #listeners = new Set<() => void>();

  constructor(options: {
    clock: ScaledClock;
    switchboard: CallInterceptor;
    folder: string;
    apiPort?: number;
    onlyAddress?: string;
    workload?: WorkloadBackend;
    log?: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  }) {
    this.clock = options.clock;
    this.switchboard = options.switchboard;
    this.folder = options.folder;
    this.log = options.log ?? (() => {});
    this.apiPort = options.apiPort ?? 50000;
    this.onlyAddress = options.onlyAddress;
    this.workload = options.workload ?? simulatedWorkload;
    this.signal = this.#life.signal;
    setMaxListeners(0, this.signal);
  }

  /** Runs something after a while, unless the world has ended by then. */
  later(seconds: number, task: () => void): void {
    this.clock.sleep(seconds, this.signal).then(task, () => {
      // The world has ended: nobody is there to see it.
    });
  }

  /** The end of the world, when all nodes are off. */
  async close(): Promise<void> {
    this.#life.abort(new Error('the world has ended'));
    await this.workload.close();
  }

  /** The running node that has this address. */
  byAddress(address: string): TalosNode | undefined {
    return [...this.nodes].find((node) => node.addresses.includes(address));
  }

  /** Somebody's membership, health or configuration changed. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Discovery finds only those who know both the cluster's id and its secret. */
export const clusterKeyOf = (node: TalosNode): string | undefined => {
  const view = node.config?.view;
  return view?.discovery && view.clusterId !== '' ? `${view.clusterId} ${view.clusterSecret}` : undefined;
};
