import type { z } from 'zod';
import type { Addressing, ConfiguredHost } from './addressing.ts';
import type { EndpointFailoverContext } from './capabilities/endpoint.ts';
import type { FailureDomains, InFailureDomain } from './capabilities/failure-domains.ts';
import type { GarbageContext } from './capabilities/garbage.ts';
import type { HostInventory } from './capabilities/hosts.ts';
import type { OrphanCapability } from './capabilities/orphans.ts';
import type { ClusterPreviewContext, PreviewContext, PreviewLine } from './capabilities/preview.ts';
import type { RepairCapability } from './capabilities/repair.ts';
import type { PlatformContext, PreflightContext, StepContext } from './contexts.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { NodeHardware, Owner } from './node.ts';
import type { Observation, ObserveAllFunction } from './observation.ts';
import type { Facts, Step } from './step.ts';

/** The contract of a platform. `S` is its section of the ProviderConfig, `C` that section for one failure domain. */
export interface PlatformSpec<C, S = C> {
  /** The key in `ProviderConfig.spec`. */
  readonly name: string;
  readonly config: z.ZodType<S>;
  /** Default: a single failure domain, and `C` is `S`. */
  readonly failureDomains?: FailureDomains<S, C>;
  /** Name of the Secret with the credentials, in the provider's namespace. */
  credentialsRef(config: C): string;
  /** Names that `controlPlane.size` and `workerPools[].size` may use. */
  sizes(section: S): readonly string[];
  /** Other hosts that the section names: their addresses must not be given to nodes. */
  foreignHosts(section: S): readonly ConfiguredHost[];
  /** Default: nodes on the main network, and a virtual address. */
  addressing?(section: S): Addressing;
  /** Read-only: whether the credentials work and the named pool, network and servers exist. Empty when all is well. */
  check(context: PlatformContext<C>): Promise<readonly Diagnostic[]>;
  /**
   * Read-only: what is missing for one more cluster besides the findings of `check`: space, memory, the image. Existing
   * clusters do not need it, so it is not part of `check`. Default: nothing.
   */
  preflight?(context: PreflightContext<C>): Promise<readonly Diagnostic[]>;
  /** From nothing to a machine that boots Talos with its configuration. */
  readonly provision: readonly Step<StepContext<C>>[];
  /**
   * Steps that run only after the node is a member of its cluster. The machine is in use meanwhile, whatever the result
   * of these steps. Default: none.
   */
  readonly postJoin?: readonly Step<StepContext<C>>[];
  /** Back to nothing, from any state in between. A missing resource is success. */
  readonly release: readonly Step<StepContext<C>>[];
  /**
   * Reasons and codes with which the release of a machine stops when its failure domain does not answer, is no longer
   * configured, or is a different one. A user may then declare it permanently lost. Default: failure domains do not get
   * lost.
   */
  readonly lostReasons?: readonly string[];
  /**
   * Reasons with which the release of a machine stops because nothing proves that it no longer runs. A user may
   * approve: then the fact `approved` has the reason, the step counts as done, and nothing more is done to the machine.
   * Default: none.
   */
  readonly unprovenReasons?: readonly string[];
  /** Read-only. */
  observe(context: StepContext<C>): Promise<Observation>;
  /**
   * Read-only. For a platform that can observe all machines of a failure domain at once: each is then observed only
   * when its fingerprint has changed.
   */
  readonly observeAll?: ObserveAllFunction<C>;
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
  readonly hosts?: HostInventory<C>;
  /** For platforms that can repair existing machines. */
  readonly repair?: RepairCapability<C>;
  /** For platforms where resources can be left without a Machine. */
  readonly orphans?: OrphanCapability<C>;
  /** Garbage collection of resources that machines share. Returns a sentence for each removed resource. */
  collectGarbage?(context: GarbageContext<C>): Promise<readonly string[]>;
  /**
   * Endpoint failover: routes the endpoint of a cluster to a working control plane, unless it already is. Called while
   * the endpoint does not answer. Returns a sentence on the action taken, if any. Does not wait for its completion.
   */
  failOverEndpoint?(context: EndpointFailoverContext<C>): Promise<string | undefined>;
}

/** A platform with its configuration type closed over, so that platforms of different types share a list. */
export type Platform = Omit<PlatformSpec<unknown>, 'check' | 'credentialsRef' | 'listen'> & {
  listen?(context: PlatformContext & InFailureDomain, listener: () => void): () => void;
  readonly postJoin: readonly Step<StepContext>[];
  readonly failureDomains: FailureDomains<unknown, unknown>;
  /** The Secret of one failure domain; `facts` are those of the existing machine. */
  credentialsRef(section: unknown, failureDomain: string | undefined, facts?: Facts): string;
  check(context: PlatformContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  addressing(config: unknown): Addressing;
  preflight(context: PreflightContext & InFailureDomain): Promise<readonly Diagnostic[]>;
  preview(context: PreviewContext): Promise<readonly PreviewLine[]>;
  hardware(context: PreviewContext): NodeHardware | undefined;
  previewShared(context: ClusterPreviewContext): Promise<readonly PreviewLine[]>;
  /** Whether all of its ProviderConfigs need a pool on the main network: the API server can then require one. */
  readonly alwaysNeedsPool: boolean;
};
