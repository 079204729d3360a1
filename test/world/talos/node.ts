import { randomBytes, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { appendFileSync } from 'node:fs';
import { MachineStatusEvent_MachineStage } from '../../../src/talos/gen/events_pb.ts';
import type { ApiObject } from '../kube/storage/store.ts';
import type { MachineDescription } from '../machine-runner/machine.ts';
import { type BootImage, talosMinorOf } from './boot/decide-boot.ts';
import { readPartition } from './boot/disk-partitions.ts';
import { deviceName } from './boot/installer.ts';
import type { LeafCertificate } from './certificates/pki.ts';
import { type ConfigView, viewOf } from './config/config-view.ts';
import { decodeConfig, type MachineConfig } from './config/decode-config.ts';
import type { InterfaceView } from './config/links.ts';
import type { TalosEnvironment } from './environment.ts';
import type { SimulatedEtcdMember } from './kubernetes/etcd.ts';
import { SimulatedServices } from './lifecycle/services.ts';
import { ipsOf, type NodeInterface } from './network/links.ts';
import { booleanField, bytesField, encodeMessage, numberField } from './state/protobuf.ts';
import { CosiState } from './state/resources.ts';
import type { WorkloadApiServer } from './workload/workload.ts';

/** Closes a resource at the end of the boot: gracefully when the system ends by itself, else at once. */
export type CloseHandler = (inOrder: boolean) => void | Promise<void>;

/** How a boot ends. */
export type BootOutcome = 'reboot' | 'kexec' | 'off';

export type TalosStage =
  | 'unknown'
  | 'booting'
  | 'installing'
  | 'maintenance'
  | 'running'
  | 'rebooting'
  | 'shutting down'
  | 'resetting'
  | 'upgrading';

/** Mutually exclusive sequences; any of them replaces a boot. */
export type Sequence = 'install' | 'reboot' | 'shutdown' | 'reset' | 'upgrade' | 'stageUpgrade';

/** The active configuration. */
export interface ActiveConfig {
  readonly source: MachineConfig;
  readonly view: ConfigView;
}

/** The cause of this boot: it decides its duration. */
export type BootCause = 'coldBoot' | 'reboot' | 'kexecAfterInstall';

/**
 * One boot of one machine, from the kernel to the end. Its state is what the API answers; the functions of run-boot.ts
 * and its neighbours change it. It ends with `end` or at power-off.
 */
export class TalosNode {
  readonly world: TalosEnvironment;
  readonly machine: MachineDescription;
  readonly image: BootImage;
  readonly bootedFrom: 'disk' | 'disc';
  readonly kind: BootCause;
  readonly minor: number;
  readonly bootId = randomUUID();
  /** The number of boots of this machine since it was first switched on. */
  readonly bootCount: number;
  readonly bootedAt = new Date();
  readonly resources = new CosiState();
  readonly services: SimulatedServices;
  /** Aborts when this boot is over. */
  readonly signal: AbortSignal;
  readonly ending: Promise<BootOutcome>;
  readonly console: string[] = [];

  stage: TalosStage = 'booting';
  config: ActiveConfig | undefined;
  /** The active configuration is on trial; aborts when it is kept. */
  trial: AbortController | undefined;
  links: readonly NodeInterface[] = [];
  hostname = '';
  metadata: Readonly<Record<string, string>> = {};
  platformLinks: readonly InterfaceView[] = [];
  /** Files below /var as this boot wrote them. A later configuration does not change them. */
  files: Readonly<Record<string, string>> = {};
  /** The configuration in STATE when it differs from the active one. */
  persisted: string | undefined;
  nodeId = randomBytes(32).toString('base64url');
  timeInSync = false;
  bootstrapAllowed = false;
  /** The number of times that the Bootstrap call restarted etcd in this boot. */
  bootstrapCalls = 0;
  /** The last Bootstrap call of this boot asked for a restore. The memory of it ends with the boot. */
  recovery: { readonly skipHashCheck: boolean } | undefined;
  etcd: SimulatedEtcdMember | undefined;
  serving: LeafCertificate | undefined;
  /** The running sequence, and the function that ends it. */
  running: { readonly sequence: Sequence; readonly abort: AbortController } | undefined;
  /** A configuration was accepted that starts with a reboot: no other is accepted until then. */
  awaitsReboot = false;
  /** The kubelet of this boot has written the Kubernetes Node object. */
  registered = false;
  /** The Kubernetes Node object says Ready. */
  nodeReady = false;
  /** The kube-apiserver implementation. */
  apiServer: WorkloadApiServer | undefined;
  /** Why this boot cannot succeed. */
  stuck: string | undefined;

  readonly #life: AbortController;
  readonly #closers: CloseHandler[] = [];
  readonly #configListeners = new Set<() => void>();
  readonly #lastClosers: CloseHandler[] = [];
  #closing: Promise<void> = Promise.resolve();
  #end: (ending: BootOutcome) => void = () => {};

  constructor(
    world: TalosEnvironment,
    machine: MachineDescription,
    image: BootImage,
    bootedFrom: 'disk' | 'disc',
    kind: BootCause,
    bootCount: number,
  ) {
    this.world = world;
    this.machine = machine;
    this.image = image;
    this.bootedFrom = bootedFrom;
    this.kind = kind;
    this.bootCount = bootCount;
    this.minor = talosMinorOf(image.version);
    this.#life = new AbortController();
    this.signal = this.#life.signal;
    // Every wait in this boot listens to its signal.
    setMaxListeners(0, this.signal);
    this.ending = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.services = new SimulatedServices(this.resources, () => this.refreshStatus());
  }

  get platform(): string {
    return this.image.platform;
  }

  get addresses(): string[] {
    return ipsOf(this.links);
  }

  /** Whether packets to an address are for this node: on loopback a test may route other addresses here. */
  takes(address: string): boolean {
    const led = this.config?.view.links.filter(({ name }) => name === 'lo').flatMap(({ addresses }) => addresses) ?? [];
    return this.addresses.includes(address) || led.includes(`${address}/32`);
  }

  /**
   * Disk with META: "installed" means that there is one. It is the first by kernel name, whichever was booted: another
   * disk with an old Talos may come first.
   */
  get systemDisk(): string | undefined {
    const { disks } = this.machine;
    const found = disks.filter((disk) => readPartition(disk.path, 'META') !== undefined);
    if (found.length <= 1) return found[0]?.path;
    return found.sort((a, b) => (deviceName(a, disks) < deviceName(b, disks) ? -1 : 1))[0]?.path;
  }

  get isControlPlane(): boolean {
    return this.config?.view.type === 'controlplane' || this.config?.view.type === 'init';
  }

  /** The first label of the host name: the name of the Kubernetes Node and of the etcd member. */
  get nodename(): string {
    return this.hostname.split('.')[0] ?? '';
  }

  setStage(stage: TalosStage): void {
    if (this.stage !== stage) this.log(`stage: ${stage}`);
    this.stage = stage;
    this.refreshStatus();
  }

  setConfig(text: string): void {
    const source = decodeConfig(text, this.minor);
    this.config = { source, view: viewOf(source) };
    for (const listener of this.#configListeners) listener();
    this.world.changed();
  }

  /** Calls a listener after each change until the returned function is called. */
  onConfig(listener: () => void): () => void {
    this.#configListeners.add(listener);
    return () => this.#configListeners.delete(listener);
  }

  /** Unmet conditions, in the words of MachineStatus; evaluated in `booting` and `running` only. */
  unmet(): { name: string; reason: string }[] {
    if (this.stage !== 'booting' && this.stage !== 'running') return [];
    const wanted = ['apid', 'machined', 'kubelet', ...(this.isControlPlane ? ['etcd', 'trustd'] : [])];
    const missing = wanted.filter((id) => !this.services.up(id)).map((id) => serviceReason(id, this));
    const unmet = [];
    if (!this.timeInSync) unmet.push({ name: 'time', reason: 'time is not synced' });
    if (this.addresses.length === 0) unmet.push({ name: 'network', reason: 'waiting on: address, connectivity' });
    if (missing.length > 0) unmet.push({ name: 'services', reason: missing.join(', ') });
    const pending = this.isControlPlane && missing.length === 0 ? this.#pendingStaticPods() : [];
    if (pending.length > 0) {
      unmet.push({ name: 'staticPods', reason: pending.map((pod) => `${pod} not ready`).join(', ') });
    }
    const nodename = this.resources.get('k8s', 'Nodenames.kubernetes.talos.dev', 'nodename');
    if (nodename && !this.nodeReady && !this.config?.view.kubernetes.kubelet.skipRegistration) {
      const seen = this.resources.get('k8s', 'NodeStatuses.kubernetes.talos.dev', this.nodename);
      unmet.push({
        name: 'nodeReady',
        reason: `node "${this.nodename}" ${seen ? 'is not ready' : 'status is not available yet'}`,
      });
    }
    return unmet;
  }

  /** Static pods that do not run yet. */
  #pendingStaticPods(): string[] {
    return ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']
      .map((component) => `kube-system/${component}-${this.nodename}`)
      .filter((id) => {
        const status = this.resources.get('k8s', 'StaticPodStatuses.kubernetes.talos.dev', id)?.spec;
        return (status as { phase?: string } | undefined)?.phase !== 'Running';
      });
  }

  refreshStatus(): void {
    const unmet = this.unmet();
    const spec = { stage: this.stage, status: { ready: unmet.length === 0, unmetConditions: unmet } };
    const stage = MachineStatusEvent_MachineStage[this.stage.toUpperCase().replaceAll(' ', '_') as 'BOOTING'];
    const status = encodeMessage(
      booleanField(1, spec.status.ready),
      ...unmet.map(({ name, reason }) => bytesField(2, encodeMessage(bytesField(1, name), bytesField(2, reason)))),
    );
    const proto = encodeMessage(numberField(1, stage), bytesField(2, status));
    this.resources.put('runtime', 'MachineStatuses.runtime.talos.dev', 'machine', spec, { proto });
  }

  /** One line on the console: kernel log, serial log. */
  log(line: string): void {
    const stamped = `[talos] ${new Date().toISOString()} ${line}`;
    this.console.push(stamped);
    if (this.console.length > 2000) this.console.shift();
    if (this.machine.serialLog !== '') appendFileSync(this.machine.serialLog, `${stamped}\n`);
    this.world.log({ machine: this.machine.name }, line);
  }

  hang(reason: string): void {
    this.stuck = reason;
    this.log(reason);
  }

  /** Waits in simulated time; rejects when the boot is over. */
  sleep(seconds: number): Promise<void> {
    return this.world.clock.sleep(seconds, this.signal);
  }

  /** The node's view of its own Kubernetes Node. */
  publishKubernetes(object: ApiObject | undefined): void {
    const name = this.nodename;
    if (!object) {
      this.resources.remove('k8s', 'NodeStatuses.kubernetes.talos.dev', name);
      return;
    }
    this.resources.put('k8s', 'NodeStatuses.kubernetes.talos.dev', name, {
      nodename: name,
      nodeReady: this.nodeReady,
      unschedulable: (object['spec'] as { unschedulable?: boolean } | undefined)?.unschedulable === true,
      labels: object.metadata.labels ?? {},
      annotations: object.metadata.annotations ?? {},
    });
  }

  /** Registers a function to call when the boot is over. */
  onClose(closer: CloseHandler): void {
    this.#closers.push(closer);
  }

  /** Registers a resource that other parts use until it is closed. */
  onClosed(closer: CloseHandler): void {
    this.#lastClosers.push(closer);
  }

  /**
   * Runs in parallel with the boot. Its end by abort is not an error; every other rejection is a bug of the simulator.
   */
  spawn(name: string, task: () => Promise<void>): void {
    task().catch((error: unknown) => {
      if (this.signal.aborted) return;
      this.hang(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  end(ending: BootOutcome): void {
    this.#end(ending);
  }

  /** Closes everything, at once like a power cut, or gracefully. A second call waits for the same end. */
  close(inOrder = false): Promise<void> {
    this.#life.abort(new Error('the machine is off'));
    this.#closing = this.#closing.then(async () => {
      const closers = [...this.#closers.splice(0).reverse(), ...this.#lastClosers.splice(0)];
      for (const closer of closers) await closer(inOrder);
      this.world.changed();
    });
    return this.#closing;
  }
}

const serviceReason = (id: string, node: TalosNode): string =>
  `${id} ${node.services.get(id)?.state === 'Running' ? 'not healthy' : 'not running'}`;
