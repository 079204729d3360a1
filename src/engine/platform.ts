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

/** What a step learned: ids, names and addresses. Saved in the Machine's status, so never a secret. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/**
 * What a step says when it returns. `back`: what an earlier step had reached is gone; walk on from that one, after `seconds`. `done`: its effect is there. `wait`: not yet; run me again after `seconds`.
 * `fail`: somebody has to change something; `message` is a sentence that says what. A thrown error means "try again".
 */
export type StepOutcome =
  | { readonly kind: 'done'; readonly facts?: Facts }
  | {
      readonly kind: 'wait';
      readonly seconds: number;
      readonly message: string;
      readonly facts?: Facts;
      /** UpperCamelCase, stable: where people may want to do something about it. */
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
/** It goes on by itself, and sooner if somebody does something about it. */
export const waitWithReason = (reason: string, seconds: number, message: string): StepOutcome => ({
  ...{ kind: 'wait', reason, seconds, message },
});
export const returnToStep = (to: string, seconds: number, message: string, facts: Facts = {}): StepOutcome => ({
  ...{ kind: 'back', to, seconds, message, facts },
});
export const fail = (reason: string, message: string): StepOutcome => ({ kind: 'fail', reason, message });

/**
 * One effect, named by the state it reaches. It looks before it acts, may run any number of times, and never sleeps.
 */
export interface Step<Context> {
  /** kebab-case; stored in status and therefore part of our API. */
  readonly name: string;
  /** Earlier names of this step, so that a rename keeps its place. */
  readonly formerly?: readonly string[];
  /** It can destroy data: never run again once the machine has joined a cluster. */
  readonly erases?: boolean;
  /** After so many minutes in this step the Machine says that it is overdue. It is still tried. */
  readonly deadlineMinutes?: number;
  run(context: Context): Promise<StepOutcome>;
}

/** Our mark on every outside object. Nothing that carries another mark, or none, is ever changed or deleted. */
export interface Owner {
  /** UID of the platform cluster's `kube-system` namespace. */
  readonly installation: string;
  /** `--provider-name`. */
  readonly provider: string;
  /** Name of the Machine. */
  readonly machine: string;
  /**
   * UID of its Cluster. What a Machine of the same name in another Cluster has left, e.g. in one that was made before under the same
   * name, is not its own. Undefined where the Cluster is not known: then it does not count.
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
  /** One of its places, where it names several. */
  readonly site?: string | undefined;
  readonly cluster: { readonly namespace: string; readonly name: string };
  readonly talos: { readonly version: string; readonly schematic: Schematic; readonly factoryUrl: string };
  /** Labels and annotations of the Cluster that are handed down for people: shown in descriptions, never interpreted. */
  readonly labels: Readonly<Record<string, string>>;
}

/** An image factory schematic: what is baked into the image. Order of extensions and arguments matters for its id. */
export interface Schematic {
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** What the platform found or decided about the hardware; the machine configuration is rendered from it. */
export interface NodeHardware {
  /** Device to install to, e.g. `/dev/vda`. */
  readonly installDisk: string;
  /** Platform part of the installer image: `nocloud` or `metal`. It must equal that of the boot image. */
  readonly imagePlatform: 'nocloud' | 'metal';
  /** The first is the node's own network. */
  readonly links: readonly NodeLink[];
  /** `spec.providerID` of the Kubernetes Node. */
  readonly providerId: string;
  /** File systems on disks of their own. */
  readonly volumes?: readonly NodeVolume[];
  /** Addresses that every control plane has for itself, and that are led to one of them from outside. */
  readonly floatingAddresses?: readonly string[];
}

export interface NodeLink {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** Addresses with prefix length, e.g. `192.168.10.21/24`. */
  readonly addresses: readonly string[];
  readonly gateway?: string;
  /** The gateway lies outside the prefix and is reached on-link (bare metal with a /32). */
  readonly onLinkGateway?: boolean;
  /** Default gateway for IPv6, where one of the addresses is of that kind; a link-local one needs nothing more. */
  readonly gateway6?: string;
  /** Where it has no addresses: how little the routes count that it is told of, or that it asks for nothing. */
  readonly dhcp?: false | { readonly routeMetric: number };
  /** Where it has no addresses: the one, with prefix length, that its DHCP server is to give it, and others know it by. */
  readonly reserved?: string;
  readonly mtu?: number;
  /** A private network on this card, tagged. Where there is one, nodes talk to each other and hold the VIP over it. */
  readonly vlan?: NodeVlan;
}

export interface NodeVlan {
  /** 1 to 4094. */
  readonly id: number;
  readonly addresses: readonly string[];
  readonly mtu?: number;
}

/** What a platform does with `network` and with an endpoint that `controlPlane.endpoint` does not name. */
export interface Addressing {
  /**
   * What `network.addressPool`, `prefix` and `gateway` are for: the nodes' main network, a private one without a way out, or
   * nothing, since nodes have addresses already.
   */
  readonly pool: 'main' | 'private' | 'none';
  /**
   * Where the API server is reached: at an address of the pool that control planes hand around, at the first control plane's
   * own, or at one that is led to them from outside.
   */
  readonly endpoint: 'virtual-address' | 'first-node' | ConfiguredHost;
}

/** Something held open between steps: a socket, a pool, a cache. */
export interface Closable {
  close(): void | Promise<void>;
}

/** One open connection for each key, shared by all steps of the process and closed with it. */
export interface ConnectionCache {
  /** Ends when all of them have to. What goes on beside the steps goes on under it. */
  readonly signal: AbortSignal;
  /** Whoever calls something outside tells it here. */
  readonly observer: CallObserver;
  get<T extends Closable>(key: string, open: () => T): T;
}

/** Everything a step may know. */
export interface StepContext<C = unknown> {
  /** The platform's section of the ProviderConfig, parsed. */
  readonly config: C;
  /** The keys of the Secret that the platform section references. */
  readonly credentials: SecretStrings;
  readonly owner: Owner;
  readonly node: NodeSpec;
  /** What earlier steps learned. */
  readonly facts: Facts;
  readonly addresses: AddressClaim;
  readonly hosts: HostClaim;
  readonly diskKey: MachineDiskKey;
  readonly connections: ConnectionCache;
  /** The node's complete machine configuration for this hardware. Throws a ProviderError when it cannot be made. */
  machineConfig(hardware: NodeHardware): Promise<SecretString>;
  /** Talks to a machine that has no configuration yet. Connects with the first call; the caller closes it. */
  maintenance(address: string): MaintenanceClient;
  /** Talks to the machine as a node of its cluster. Each call connects anew. */
  ownNode(address: string): ClusterNodeClient;
  readonly log: Log;
  readonly clock: Clock;
  /** Ends every call in time; aborted on shutdown and on lost leadership. */
  readonly signal: AbortSignal;
}

/** One thing that a ProviderConfig gets wrong, or that its platform lacks. */
export interface Diagnostic {
  /** Path below `spec`, e.g. `truenas.pool`. */
  readonly field: string;
  /** UpperCamelCase, stable. */
  readonly reason: string;
  /** A sentence that says what to do. */
  readonly message: string;
  /** Nothing is wrong; it is only something to know. */
  readonly advice?: true;
}

/** A host that belongs to somebody else, and the field that names it, e.g. `truenas.url`. */
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

/** What a cluster would be made of, were it made now. */
export type PreflightContext<C = unknown> = PlatformContext<C> & {
  /** In the order in which they would be made. */
  readonly machines: readonly Pick<NodeSpec, 'name' | 'role' | 'size'>[];
  readonly talos: NodeSpec['talos'];
  /** Whether an address is one of the pool that nodes and endpoints get theirs from. */
  mayBeGiven(address: string): boolean;
};

/** What a platform has to bring. `S` is its section of the ProviderConfig, `C` that section for one of its places. */
export interface PlatformSpec<C, S = C> {
  /** The key in `ProviderConfig.spec`. */
  readonly name: string;
  readonly config: z.ZodType<S>;
  /** Default: there is but one, and `C` is `S`. */
  readonly sites?: FailureDomains<S, C>;
  /** Name of the Secret with the credentials, in the provider's namespace. */
  credentialsRef(config: C): string;
  /** Names that `controlPlane.size` and `workerPools[].size` may use. */
  sizes(section: S): readonly string[];
  /** What the section names beside the nodes: its addresses may not be given to nodes. */
  hosts(section: S): readonly ConfiguredHost[];
  /** Default: nodes on the main network, and a virtual address. */
  addressing?(section: S): Addressing;
  /** Read-only: do the credentials work, do the named pool, network, servers exist? Empty when all is well. */
  check(context: PlatformContext<C>): Promise<readonly Diagnostic[]>;
  /**
   * Read-only: what would be missing for one more cluster, beside what `check` finds: room, memory, the image. What there
   * is for those that run is not asked, so this is no part of `check`. Default: nothing.
   */
  foresee?(context: PreflightContext<C>): Promise<readonly Diagnostic[]>;
  /** From nothing to a machine that boots Talos with its configuration. */
  readonly provision: readonly Step<StepContext<C>>[];
  /**
   * What is put right once the node is a member of its cluster, and not a moment earlier. The machine serves meanwhile, and
   * whatever becomes of these steps. Default: nothing.
   */
  readonly settle?: readonly Step<StepContext<C>>[];
  /** Back to nothing, from any state in between. Missing is success. */
  readonly release: readonly Step<StepContext<C>>[];
  /**
   * Reasons and codes with which taking down a machine stops when the place that it was made at does not answer, is not named any
   * more, or is another one. A person may say then that it is gone for good. Default: places do not get lost.
   */
  readonly lostWhen?: readonly string[];
  /**
   * Reasons with which taking down a machine stops because nothing proves that it does not run any more. A person may vouch for that:
   * the fact `agreed` has the reason then, the step counts as done, and nothing more is done to the machine. Default: none.
   */
  readonly unproven?: readonly string[];
  /** Read-only. */
  observe(context: StepContext<C>): Promise<Observation>;
  /** Read-only. Where all machines of a place can be seen at once: then each is observed only when its trace has changed. */
  readonly glance?: ObserveAllFunction<C>;
  /**
   * Where a place tells of changes to its machines, by and by: has `listener` called after each, which must not throw. What is
   * returned ends it. Nothing is promised: whoever relies on it looks after a while all the same.
   */
  listen?(context: PlatformContext<C>, listener: () => void): () => void;
  /** Read-only: what would become of what there is, were a machine made now. Where there is none, nothing can be said. */
  preview?(context: PreviewContext<C>): Promise<readonly PreviewLine[]>;
  /** What a machine's configuration would be made for. Default, and undefined: that is not known before it is made. */
  hardware?(context: PreviewContext<C>): NodeHardware | undefined;
  /** Read-only: the same of what the machines of a cluster share. Default: nothing. */
  previewShared?(context: ClusterPreviewContext<C>): Promise<readonly PreviewLine[]>;
  /**
   * MAC address of the first card of whichever machine a DHCP server is to give an address of the pool. Undefined where nodes get
   * none from there.
   */
  reservedMac?(owner: Omit<Owner, 'machine'>, address: string): string;
  /** Where machines are people's own servers, which Host objects describe. */
  readonly inventory?: HostInventory<C>;
  /** Where machines can be put right that were made. */
  readonly mending?: RepairCapability<C>;
  /** Where something could be left that nobody knows of any more. */
  readonly orphans?: OrphanCapability<C>;
  /** Removes what nobody needs any more of what machines share. In a sentence each, what was removed. */
  tidy?(context: GarbageContext<C>): Promise<readonly string[]>;
  /**
   * Leads the endpoint of a cluster to a control plane that works, unless it leads to one. Called while it does not answer.
   * A sentence that says what is being done about it, if anything. It does not wait for it.
   */
  leadEndpoint?(context: EndpointFailoverContext<C>): Promise<string | undefined>;
}

/** A platform with its configuration type closed over, so that platforms of different types share a list. */
export type Platform = Omit<PlatformSpec<unknown>, 'check' | 'credentialsRef' | 'listen'> & {
  listen?(context: PlatformContext & InFailureDomain, listener: () => void): () => void;
  readonly settle: readonly Step<StepContext>[];
  readonly sites: FailureDomains<unknown, unknown>;
  /** That of one place; `facts` are those of the machine that is there. */
  credentialsRef(section: unknown, site: string | undefined, facts?: Facts): string;
  check(context: PlatformContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  addressing(config: unknown): Addressing;
  foresee(context: PreflightContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  preview(context: PreviewContext): Promise<readonly PreviewLine[]>;
  hardware(context: PreviewContext): NodeHardware | undefined;
  previewShared(context: ClusterPreviewContext): Promise<readonly PreviewLine[]>;
  /** Whether all of its ProviderConfigs need a pool on the main network: the API server can then demand one. */
  readonly alwaysNeedsPool: boolean;
};
