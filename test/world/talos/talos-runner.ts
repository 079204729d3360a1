import { isIPv6 } from 'node:net';
import type { CallInterceptor } from '../faults/call-interceptor.ts';
import type { RequestedApi } from '../kube/discovery/metrics.ts';
import type { MachineDescription, MachineRunner } from '../machine-runner/machine.ts';
import type { ScaledClock } from '../scaled-clock.ts';
import { type BrokenSystem, TalosEnvironment } from './environment.ts';
import type { EtcdAlarm } from './kubernetes/etcd.ts';
import type { SnapshotSettings } from './kubernetes/etcd-snapshot.ts';
import { startReboot } from './lifecycle/sequences.ts';
import { allIpsOf } from './network/links.ts';
import type { TalosNode } from './node.ts';
import { SimulatedMachine } from './simulated-machine.ts';
import type { WorkloadBackend } from './workload/workload.ts';

export interface TalosRunnerOptions {
  readonly clock: ScaledClock;
  readonly switchboard: CallInterceptor;
  /** Parent folder of the simulator's files. */
  readonly folder: string;
  /** The kube-apiserver of control planes; default: the simulated one. It is closed with the runner. */
  readonly workload?: WorkloadBackend;
  readonly log?: (fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** A test's view of one machine. */
export interface NodeSummary {
  readonly name: string;
  readonly description: MachineDescription;
  /** `off` when it is switched off, `none` when nothing boots, else the stage of the API. */
  readonly stage: string;
  readonly ready: boolean;
  /** The kubelet of this boot has reported the Node's current status. */
  readonly registered: boolean;
  readonly addresses: readonly string[];
  readonly ipv6Addresses: readonly string[];
  readonly hostname: string;
  readonly version: string;
  readonly platform: string;
  readonly stuck: string | undefined;
  /** The Talos API listens. */
  readonly listening: boolean;
  /** How often it has booted since it was made. */
  readonly boots: number;
  /** Last lines of the console. */
  readonly console: readonly string[];
}

export interface TalosRunner extends MachineRunner {
  /** Every machine that was ever started, in order. */
  nodes(): NodeSummary[];
  node(name: string): NodeSummary | undefined;
  /** The number of etcd bootstraps on all machines, those from a snapshot included. */
  bootstraps(): number;
  /** A reboot as if requested on the console. */
  reboot(name: string): void;
  /** Its kernel hangs while it stays switched on. `isBroken`: and nothing boots on it any more. */
  hang(name: string, isBroken?: boolean): void;
  /** Ends its kube-apiserver; the kubelet starts another. */
  crashApiServer(name: string): Promise<void>;
  /** Raises an alarm of the etcd member that runs there. */
  raiseEtcdAlarm(name: string, alarm: EtcdAlarm): void;
  /** Sets the bytes of the database of the etcd member that runs there, and those in use. */
  fillEtcd(name: string, database: { bytes: number; inUse: number }): void;
  /** Issuers that keep a simulated kube-apiserver from starting, for a reason that validation cannot know. */
  readonly refusedIssuers: Set<string>;
  /** Parts of references of images that no registry has. */
  readonly missingImages: Set<string>;
  /** The deprecated APIs that clients of the clusters have requested. */
  readonly requestedApis: RequestedApi[];
  /** Systems that fail to boot, by version or schematic. */
  readonly brokenSystems: Map<string, BrokenSystem>;
  /** What nodes give as snapshots of etcd. */
  readonly snapshots: SnapshotSettings;
  /** Switches everything off and waits until all ports are free. */
  close(): Promise<void>;
}

/**
 * Machines that are simulated Talos nodes. All machines of one runner share a network, a discovery service and their
 * clusters.
 */
export function startTalosRunner(options: TalosRunnerOptions): TalosRunner {
  const world = new TalosEnvironment(options);
  const computers = new Map<string, SimulatedMachine>();
  const bootCounts = new Map<string, number>();
  return {
    start(machine) {
      const computer = new SimulatedMachine(world, machine, bootCounts);
      computers.set(machine.name, computer);
      return computer;
    },
    takes: (name, address) => computers.get(name)?.node?.takes(address) ?? false,
    nodes: () => [...computers.values()].map(summarize),
    node: (name) => {
      const computer = computers.get(name);
      return computer && summarize(computer);
    },
    bootstraps: () => world.etcdClusters.size,
    reboot: (name) => {
      const node = computers.get(name)?.node;
      if (!node) throw new Error(`no machine ${name} is running`);
      startReboot(node);
    },
    hang: (name, isBroken = false) => {
      const computer = computers.get(name);
      if (!computer) throw new Error(`no machine ${name} is running`);
      if (isBroken) world.brokenMachines.add(name);
      computer.hang();
    },
    crashApiServer: async (name) => {
      const server = computers.get(name)?.node?.apiServer;
      if (!server) throw new Error(`no kube-apiserver runs on ${name}`);
      await server.crash();
    },
    raiseEtcdAlarm: (name, alarm) => {
      const member = computers.get(name)?.node?.etcd;
      if (!member) throw new Error(`no etcd runs on ${name}`);
      member.cluster.alarms.set(member.id, alarm);
    },
    fillEtcd: (name, database) => {
      const member = computers.get(name)?.node?.etcd;
      if (!member) throw new Error(`no etcd runs on ${name}`);
      member.database = { ...database };
    },
    refusedIssuers: world.refusedIssuers,
    missingImages: world.missingImages,
    requestedApis: world.requestedApis,
    brokenSystems: world.brokenSystems,
    snapshots: world.snapshots,
    close: async () => {
      for (const computer of computers.values()) computer.kill();
      await Promise.all([...computers.values()].map((computer) => computer.exited));
      await world.close();
    },
  };
}

function summarize(computer: SimulatedMachine): NodeSummary {
  const node: TalosNode | undefined = computer.node;
  return {
    name: computer.description.name,
    description: computer.description,
    stage: node?.stage ?? (computer.stuck ? 'none' : 'off'),
    ready: node !== undefined && node.stage === 'running' && node.unmet().length === 0,
    registered: node?.registered ?? false,
    addresses: node?.addresses ?? [],
    ipv6Addresses: allIpsOf(node?.links ?? []).filter(isIPv6),
    hostname: node?.hostname ?? '',
    version: node?.image.version ?? '',
    platform: node?.platform ?? '',
    stuck: computer.stuck,
    listening: node?.services.up('apid') ?? false,
    boots: computer.boots,
    console: node?.console ?? [],
  };
}
