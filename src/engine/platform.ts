import type { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { CallObserver } from '../lib/observers.ts';
import type { SecretString, SecretStrings } from '../lib/secret-string.ts';
import type { AddressClaim } from './address-claim.ts';
import type { EndpointFailoverContext } from './capabilities/endpoint.ts';
import type { FailureDomains, InFailureDomain } from './capabilities/failure-domains.ts';
import type { GarbageContext } from './capabilities/garbage.ts';
import type { HostClaim, HostInventory } from './capabilities/hosts.ts';
import type { OrphanCapability } from './capabilities/orphans.ts';
import type { ClusterPreviewContext, PreviewContext, PreviewLine } from './capabilities/preview.ts';
import type { RepairCapability } from './capabilities/repair.ts';
import type { MachineDiskKey } from './machine-disk-key.ts';
import type { NodeVolume } from './node-volume.ts';
import type { Observation, ObserveAllFunction } from './observation.ts';
import type { ClusterNodeClient, MaintenanceClient } from './talos-clients.ts';

/** What a step learned: ids, names and addresses. Saved in the Machine's status, so it never contains a secret. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/**
 * The result of a step. `back`: the effect of an earlier step is gone; continue from that step after `seconds`. `done`:
 * its effect is there. `wait`: not yet; run the step again after `seconds`. `fail`: a user has to change something;
 * `message` is a sentence that says what. A thrown error means a retry.
 */
export type StepOutcome =
  | { readonly kind: 'done'; readonly facts?: Facts }
  | {
      readonly kind: 'wait';
      readonly seconds: number;
      readonly message: string;
      readonly facts?: Facts;
      /** UpperCamelCase, stable; set where users may want to act on it. */
      readonly reason?: string;
    }
  | {
      readonly kind: 'back';
      readonly to: string;
      readonly seconds: number;
      readonly message: string;
      readonly facts?: Facts;
    }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

export const done = (facts?: Facts): StepOutcome => (facts ? { kind: 'done', facts } : { kind: 'done' });
export const wait = (seconds: number, message: string, facts?: Facts): StepOutcome =>
  facts ? { kind: 'wait', seconds, message, facts } : { kind: 'wait', seconds, message };
/** The step continues by itself, and sooner when a user acts on the reason. */
export const waitWithReason = (reason: string, seconds: number, message: string): StepOutcome => ({
  ...{ kind: 'wait', reason, seconds, message },
});
export const returnToStep = (to: string, seconds: number, message: string, facts: Facts = {}): StepOutcome => ({
  ...{ kind: 'back', to, seconds, message, facts },
});
export const fail = (reason: string, message: string): StepOutcome => ({ kind: 'fail', reason, message });

/**
 * One effect, named by the state it reaches. It checks before it acts, may run any number of times, and never sleeps.
 */
export interface Step<Context> {
  /** kebab-case; stored in status and therefore part of the API. */
  readonly name: string;
  /** Earlier names of this step, so that a rename keeps the position. */
  readonly formerly?: readonly string[];
  /** It can destroy data: it never runs again once the machine has joined a cluster. */
  readonly erases?: boolean;
  /** After this many minutes in the step the Machine is reported as overdue. The step is still retried. */
  readonly deadlineMinutes?: number;
  run(context: Context): Promise<StepOutcome>;
}

/**
 * The ownership mark on every external resource. A resource with another mark, or none, is never changed or deleted.
 */
export interface Owner {
  /** UID of the platform cluster's `kube-system` namespace. */
  readonly installation: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** Name of the Machine. */
  readonly machine: string;
  /**
   * UID of its Cluster. Resources of a Machine of the same name in another Cluster, e.g. in an earlier one of the same
   * name, have another owner. Undefined when the Cluster is unknown: then it is not compared.
   */
  readonly cluster?: string | undefined;
}

/** The node that a step works for, as far as a platform may know it. */
export interface NodeSpec {
  /** Name of the Machine; also the node's host name. At most 63 characters of `[a-z0-9-]`. */
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  /** Worker pool, or `control-plane`. */
  readonly pool: string;
  /** One of the sizes of the platform's section. */
  readonly size: string;
  /** One of the platform's failure domains, if it has several. */
  readonly site?: string | undefined;
  readonly cluster: { readonly namespace: string; readonly name: string };
  readonly talos: { readonly version: string; readonly schematic: Schematic; readonly factoryUrl: string };
  /** Propagated labels and annotations of the Cluster: shown in descriptions, never interpreted. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An image factory schematic: the extensions and arguments built into the image. Their order matters for its id. */
export interface Schematic {
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** The hardware that the platform found or chose; the machine configuration is rendered from it. */
export interface NodeHardware {
  /** Device to install to, e.g. `/dev/vda`. */
  readonly installDisk: string;
  /** Platform part of the installer image: `nocloud` or `metal`. It must equal that of the boot image. */
  readonly imagePlatform: 'nocloud' | 'metal';
  /** The first is the node's own network. */
  readonly links: readonly NodeLink[];
  /** `spec.providerID` of the Kubernetes Node. */
  readonly providerId: string;
  /** File systems on separate disks. */
  readonly volumes?: readonly NodeVolume[];
  /** Addresses that every control plane configures and the platform routes to one of them. */
  readonly floatingAddresses?: readonly string[];
}

export interface NodeLink {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** Addresses with prefix length, e.g. `192.168.10.21/24`. */
  readonly addresses: readonly string[];
  readonly gateway?: string;
  /** The gateway is outside the prefix and reached on-link (bare metal with a /32). */
  readonly onLinkGateway?: boolean;
  /** Default gateway for IPv6, if one of the addresses is IPv6; a link-local gateway needs nothing more. */
  readonly gateway6?: string;
  /** For a link without addresses: the metric of its DHCP routes, or `false` for no DHCP. */
  readonly dhcp?: false | { readonly routeMetric: number };
  /** For a link without addresses: the address, with prefix length, that the DHCP server reserves for it. */
  readonly reserved?: string;
  readonly mtu?: number;
  /** A tagged private network on this card. With one, nodes talk to each other and hold the VIP over it. */
  readonly vlan?: NodeVlan;
}

export interface NodeVlan {
  /** 1 to 4094. */
  readonly id: number;
  readonly addresses: readonly string[];
  readonly mtu?: number;
}

/** How a platform uses `network`, and its endpoint when `controlPlane.endpoint` is not set. */
export interface Addressing {
  /**
   * The purpose of `network.addressPool`, `prefix` and `gateway`: the nodes' main network, a private one without a
   * route to the outside, or nothing, because nodes already have addresses.
   */
  readonly pool: 'main' | 'private' | 'none';
  /**
   * The address of the API server: a VIP from the pool that control planes share, the first control plane's own, or one
   * that the platform routes to a control plane.
   */
  readonly endpoint: 'virtual-address' | 'first-node' | ConfiguredHost;
}

/** A resource that stays open between steps: a socket, a pool, a cache. */
export interface Closable {
  close(): void | Promise<void>;
}

/** One open connection per key, shared by all steps of the process and closed with it. */
export interface ConnectionCache {
  /** Aborts when all connections have to end. Background work uses this signal. */
  readonly signal: AbortSignal;
  /** Observes every call to an external system. */
  readonly observer: CallObserver;
  get<T extends Closable>(key: string, open: () => T): T;
}

/** The context of a step. */
export interface StepContext<C = unknown> {
  /** The platform's section of the ProviderConfig, parsed. */
  readonly config: C;
  /** The keys of the Secret that the platform section references. */
  readonly credentials: SecretStrings;
  readonly owner: Owner;
  readonly node: NodeSpec;
  /** The facts of earlier steps. */
  readonly facts: Facts;
  readonly addresses: AddressClaim;
  readonly hosts: HostClaim;
  readonly diskKey: MachineDiskKey;
  readonly connections: ConnectionCache;
  /** The node's complete machine configuration for this hardware. Throws a ProviderError when it cannot be rendered. */
  machineConfig(hardware: NodeHardware): Promise<SecretString>;
  /** A client of a machine that has no configuration yet. Connects with the first call; the caller closes it. */
  maintenance(address: string): MaintenanceClient;
  /** A client of the machine as a node of its cluster. Each call opens a new connection. */
  ownNode(address: string): ClusterNodeClient;
  readonly log: Log;
  readonly clock: Clock;
  /** Bounds every call; aborted on shutdown and on lost leadership. */
  readonly signal: AbortSignal;
}

/** One problem of a ProviderConfig, or one thing that its platform lacks. */
export interface Diagnostic {
  /** Path below `spec`, e.g. `truenas.pool`. */
  readonly field: string;
  /** UpperCamelCase, stable. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
  /** Information only: nothing is wrong. */
  readonly advice?: true;
}

/** A host with another owner, and the field that names it, e.g. `truenas.url`. */
export interface ConfiguredHost {
  readonly field: string;
  /** Name or address, without a port and without brackets. */
  readonly host: string;
}

/** The part of a {@link StepContext} that checks of a whole ProviderConfig get. */
export type PlatformContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'connections' | 'log' | 'clock' | 'signal'
>;

/** The machines of a cluster, if it were created now. */
export type PreflightContext<C = unknown> = PlatformContext<C> & {
  /** In the order of creation. */
  readonly machines: readonly Pick<NodeSpec, 'name' | 'role' | 'size'>[];
  readonly talos: NodeSpec['talos'];
  /** Whether an address belongs to the pool of nodes and endpoints. */
  mayBeGiven(address: string): boolean;
};

/** The contract of a platform. `S` is its section of the ProviderConfig, `C` that section for one failure domain. */
export interface PlatformSpec<C, S = C> {
  /** The key in `ProviderConfig.spec`. */
  readonly name: string;
  readonly config: z.ZodType<S>;
  /** Default: a single failure domain, and `C` is `S`. */
  readonly sites?: FailureDomains<S, C>;
  /** Name of the Secret with the credentials, in the provider's namespace. */
  credentialsRef(config: C): string;
  /** Names that `controlPlane.size` and `workerPools[].size` may use. */
  sizes(section: S): readonly string[];
  /** Other hosts that the section names: their addresses must not be given to nodes. */
  hosts(section: S): readonly ConfiguredHost[];
  /** Default: nodes on the main network, and a virtual address. */
  addressing?(section: S): Addressing;
  /** Read-only: whether the credentials work and the named pool, network and servers exist. Empty when all is well. */
  check(context: PlatformContext<C>): Promise<readonly Diagnostic[]>;
  /**
   * Read-only: what is missing for one more cluster besides the findings of `check`: space, memory, the image. Existing
   * clusters do not need it, so it is not part of `check`. Default: nothing.
   */
  foresee?(context: PreflightContext<C>): Promise<readonly Diagnostic[]>;
  /** From nothing to a machine that boots Talos with its configuration. */
  readonly provision: readonly Step<StepContext<C>>[];
  /**
   * Steps that run only after the node is a member of its cluster. The machine is in use meanwhile, whatever the result
   * of these steps. Default: none.
   */
  readonly settle?: readonly Step<StepContext<C>>[];
  /** Back to nothing, from any state in between. A missing resource is success. */
  readonly release: readonly Step<StepContext<C>>[];
  /**
   * Reasons and codes with which the release of a machine stops when its failure domain does not answer, is no longer
   * configured, or is a different one. A user may then declare it permanently lost. Default: failure domains do not get
   * lost.
   */
  readonly lostWhen?: readonly string[];
  /**
   * Reasons with which the release of a machine stops because nothing proves that it no longer runs. A user may
   * approve: then the fact `agreed` has the reason, the step counts as done, and nothing more is done to the machine.
   * Default: none.
   */
  readonly unproven?: readonly string[];
  /** Read-only. */
  observe(context: StepContext<C>): Promise<Observation>;
  /**
   * Read-only. For a platform that can observe all machines of a failure domain at once: each is then observed only
   * when its fingerprint has changed.
   */
  readonly glance?: ObserveAllFunction<C>;
  /**
   * For a failure domain that reports changes to its machines: calls `listener`, which must not throw, after each
   * change. Returns a function that ends it. Delivery is not guaranteed: callers also observe periodically.
   */
  listen?(context: PlatformContext<C>, listener: () => void): () => void;
  /** Read-only: the effects on existing resources if a machine were created now. Absent: no preview. */
  preview?(context: PreviewContext<C>): Promise<readonly PreviewLine[]>;
  /**
   * The hardware that a machine's configuration would be rendered for. Default, and undefined: unknown before the
   * machine is created.
   */
  hardware?(context: PreviewContext<C>): NodeHardware | undefined;
  /** Read-only: the same for the resources that the machines of a cluster share. Default: nothing. */
  previewShared?(context: ClusterPreviewContext<C>): Promise<readonly PreviewLine[]>;
  /**
   * MAC address of the first card of the machine that gets an address of the pool from a DHCP server. Undefined when
   * nodes do not use DHCP.
   */
  reservedMac?(owner: Omit<Owner, 'machine'>, address: string): string;
  /** For machines that are user-owned servers, which Host objects describe. */
  readonly inventory?: HostInventory<C>;
  /** For platforms that can repair existing machines. */
  readonly mending?: RepairCapability<C>;
  /** For platforms where resources can be left without a Machine. */
  readonly orphans?: OrphanCapability<C>;
  /** Garbage collection of resources that machines share. Returns a sentence for each removed resource. */
  tidy?(context: GarbageContext<C>): Promise<readonly string[]>;
  /**
   * Endpoint failover: routes the endpoint of a cluster to a working control plane, unless it already is. Called while
   * the endpoint does not answer. Returns a sentence on the action taken, if any. Does not wait for its completion.
   */
  leadEndpoint?(context: EndpointFailoverContext<C>): Promise<string | undefined>;
}

/** A platform with its configuration type closed over, so that platforms of different types share a list. */
export type Platform = Omit<PlatformSpec<unknown>, 'check' | 'credentialsRef' | 'listen'> & {
  listen?(context: PlatformContext & InFailureDomain, listener: () => void): () => void;
  readonly settle: readonly Step<StepContext>[];
  readonly sites: FailureDomains<unknown, unknown>;
  /** The Secret of one failure domain; `facts` are those of the existing machine. */
  credentialsRef(section: unknown, site: string | undefined, facts?: Facts): string;
  check(context: PlatformContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  addressing(config: unknown): Addressing;
  foresee(context: PreflightContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  preview(context: PreviewContext): Promise<readonly PreviewLine[]>;
  hardware(context: PreviewContext): NodeHardware | undefined;
  previewShared(context: ClusterPreviewContext): Promise<readonly PreviewLine[]>;
  /** Whether all of its ProviderConfigs need a pool on the main network: the API server can then require one. */
  readonly alwaysNeedsPool: boolean;
};
