import { setMaxListeners } from 'node:events';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { RequestedApi } from '../kube/discovery/metrics.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import type { SimulatedEtcdCluster } from './kubernetes/etcd.ts';
import { SnapshotSettings } from './kubernetes/etcd-snapshot.ts';
import type { TalosNode } from './node.ts';
import { simulatedWorkload } from './workload/simulated-workload.ts';
import type { WorkloadBackend } from './workload/workload.ts';

/** Port of the Talos API. */
export const talosApiPort = 50000;

/** A member of a cluster in discovery: it stays for a while after its node is gone. */
export interface Affiliate {
  readonly nodeId: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly machineType: string;
  readonly operatingSystem: string;
  readonly clusterKey: string;
}

/**
 * How a system fails to boot. `ends`: Talos starts and ends with a fatal error, which reverts an upgrade. `hangs`: its
 * kernel never starts Talos.
 */
export type BrokenSystem = 'ends' | 'hangs';

/** The state that all machines of one runner share: their network, and everything that outlives a single machine. */
export class TalosEnvironment {
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  readonly folder: string;
  readonly log: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** Running nodes. */
  readonly nodes = new Set<TalosNode>();
  readonly etcdClusters = new Map<string, SimulatedEtcdCluster>();
  readonly affiliates = new Map<string, Affiliate>();
  /** The etcd behind `host:port` of a running kube-apiserver. */
  readonly apiServers = new Map<string, SimulatedEtcdCluster>();
  /** Virtual IPs with a holder. */
  readonly vips = new Map<string, SimulatedEtcdCluster>();
  /** Issuers that keep a simulated kube-apiserver from starting, for a reason that validation cannot know. */
  readonly refusedIssuers = new Set<string>();
  /** Parts of references of images that no registry has. */
  readonly missingImages = new Set<string>();
  /** The deprecated APIs that clients of the clusters have requested. */
  readonly requestedApis: RequestedApi[] = [];
  /** Systems that fail to boot, by version or schematic. */
  readonly brokenSystems = new Map<string, BrokenSystem>();
  /** Names of machines on which nothing boots any more. One that takes the place of another may have its UUID. */
  readonly brokenMachines = new Set<string>();
  /** What nodes give as snapshots of etcd. */
  readonly snapshots = new SnapshotSettings();
  /** Content of the snapshots that nodes were given, by id: too large for their simulated disks. */
  readonly uploadedSnapshots = new Map<string, Buffer>();
  /** The kube-apiserver implementation. */
  readonly workload: WorkloadBackend;
  readonly signal: AbortSignal;
  readonly #life = new AbortController();
  readonly #listeners = new Set<() => void>();

  constructor(options: {
    clock: ScaledClock;
    switchboard: CallInterceptor;
    folder: string;
    workload?: WorkloadBackend;
    log?: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  }) {
    this.clock = options.clock;
    this.switchboard = options.switchboard;
    this.folder = options.folder;
    this.log = options.log ?? (() => {});
    this.workload = options.workload ?? simulatedWorkload;
    this.signal = this.#life.signal;
    setMaxListeners(0, this.signal);
  }

  /** Runs a callback after a delay, unless the environment has ended by then. */
  later(seconds: number, task: () => void): void {
    this.clock.sleep(seconds, this.signal).then(task, () => {
      // The environment has ended: the callback is dropped.
    });
  }

  /** Ends the environment when all nodes are off. */
  async close(): Promise<void> {
    this.#life.abort(new Error('the world has ended'));
    await this.workload.close();
  }

  /** The running node with this address. */
  byAddress(address: string): TalosNode | undefined {
    return [...this.nodes].find((node) => node.addresses.includes(address));
  }

  /** Announces a change of membership, health or configuration. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Discovery needs both the cluster's id and its secret. */
export const clusterKeyOf = (node: TalosNode): string | undefined => {
  const view = node.config?.view;
  return view?.discovery && view.clusterId !== '' ? `${view.clusterId} ${view.clusterSecret}` : undefined;
};
