import type { z } from 'zod';
import type { ErrorCodeInfo } from '../lib/errors.ts';
import type { Addressing, ConfiguredHost } from './addressing.ts';
import type { ConsoleCapability, ConsoleLink } from './capabilities/console.ts';
import type { EndpointCapability } from './capabilities/endpoint.ts';
import type { FailureDomains, InFailureDomain } from './capabilities/failure-domains.ts';
import type { GarbageCapability } from './capabilities/garbage.ts';
import type { HardwareCapability } from './capabilities/hardware.ts';
import type { HostInventory } from './capabilities/hosts.ts';
import type { LossCapability } from './capabilities/loss.ts';
import type { MonitorCapability } from './capabilities/monitor.ts';
import type { NetworkCapability } from './capabilities/network.ts';
import type { ClosedPreviewCapability, PreviewCapability } from './capabilities/preview.ts';
import type { ReconfigureCapability } from './capabilities/reconfigure.ts';
import type { RepairCapability } from './capabilities/repair.ts';
import type { SystemUsage, UsageCapability } from './capabilities/usage.ts';
import type { PlatformContext, PreflightContext, StepContext } from './contexts.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { SizeHardware } from './node.ts';
import type { Observation } from './observation.ts';
import type { Facts, Step } from './step.ts';

/** The configuration of a platform. `S` is its section of the ProviderConfig, `C` that section for one failure domain. */
export interface PlatformConfig<C, S = C> {
  readonly schema: z.ZodType<S>;
  /** Name of the Secret with the credentials, in the provider's namespace; undefined: none are needed. */
  credentialsRef(config: C): string | undefined;
  /** Hosts with other owners that the section names: their addresses must not be given to nodes. Default: none. */
  foreignHosts?(section: S): readonly ConfiguredHost[];
  /** Rules that relate the section to the rest of the spec. The API server evaluates them. Default: none. */
  readonly specRules?: readonly SpecRule[];
}

/** A CEL rule on the whole spec of a ProviderConfig, which is `self`. It must hold without the section, too. */
export interface SpecRule {
  readonly rule: string;
  readonly message: string;
  /** The field to blame, e.g. `.network.gateway`. */
  readonly fieldPath: string;
}

/** The members that every platform has: enough for clusters that are created, observed and deleted. */
export interface PlatformCore<C, S = C> {
  /** The key in `ProviderConfig.spec`. */
  readonly name: string;
  readonly config: PlatformConfig<C, S>;
  /** Names that `controlPlane.size` and `workerPools[].size` may use. */
  sizes(section: S): readonly string[];
  /** Read-only: whether the credentials work and the named pool, network and servers exist. Empty when all is well. */
  check(context: PlatformContext<C>): Promise<readonly Diagnostic[]>;
  /** From nothing to a machine that boots Talos with its configuration. */
  readonly provision: readonly Step<StepContext<C>>[];
  /** Back to nothing, from any state in between. A missing resource is success. */
  readonly release: readonly Step<StepContext<C>>[];
  /** Read-only. */
  observe(context: StepContext<C>): Promise<Observation>;
}

/** The optional capabilities of a platform. The file of each says what its absence means. */
export interface PlatformCapabilities<C, S = C> {
  /**
   * Others make its nodes, change and remove them: the name of those. Its clusters are adopted, and the provider reports
   * their state and grants access to them. Default: the provider makes the nodes.
   */
  managedBy?(section: S): string;
  /** The catalogue of its error codes. Default: it throws the shared codes only. */
  readonly errorCodes?: Readonly<Record<string, ErrorCodeInfo>>;
  /** Default: a single failure domain, and `C` is `S`. */
  readonly failureDomains?: FailureDomains<S, C>;
  /** Default: nodes on the main network, a virtual address as endpoint, and no DHCP. */
  readonly network?: NetworkCapability<S>;
  /**
   * Read-only: what is missing for one more cluster besides the findings of `check`: space, memory, the image. Existing
   * clusters do not need it, so it is not part of `check`. Default: nothing.
   */
  preflight?(context: PreflightContext<C>): Promise<readonly Diagnostic[]>;
  /**
   * Steps that run only after the node is a member of its cluster. The machine is in use meanwhile, whatever the result
   * of these steps. Default: none.
   */
  readonly postJoin?: readonly Step<StepContext<C>>[];
  /** Reasons with which a machine in creation waits for what the platform does not have. Default: none. */
  readonly shortageReasons?: readonly string[];
  /**
   * `spec.providerID` of the Node of an existing machine; undefined while it is not known. Default: the fact
   * `providerId`.
   */
  providerIdOf?(facts: Facts): string | undefined;
  /** The hardware of a size, if the section says it. Default: it is that of the Host of each machine. */
  sizeHardware?(section: S, size: string): SizeHardware | undefined;
  /** Default: a machine is released only with proof. */
  readonly loss?: LossCapability;
  /** Default: each machine is observed on its own, periodically. */
  readonly monitor?: MonitorCapability<C>;
  /** Default: no preview. */
  readonly preview?: PreviewCapability<C>;
  /** For machines that are user-owned servers, which Host objects describe. */
  readonly hosts?: HostInventory<C>;
  /** For platforms whose machines can get another configuration while they run. */
  readonly reconfigure?: ReconfigureCapability<C>;
  /** For platforms whose machines can get other hardware while they are off. */
  readonly hardware?: HardwareCapability<C>;
  /** For platforms that can repair existing machines. */
  readonly repair?: RepairCapability<C>;
  /** For platforms where resources can be left without a Machine, or without use. */
  readonly garbage?: GarbageCapability<C>;
  /** For platforms that route the endpoint of a cluster to one of its control planes. */
  readonly endpoint?: EndpointCapability<C>;
  /** Default: machines share no system whose memory and disks are limited. */
  readonly usage?: UsageCapability<C>;
  /** Default: the platform shows no consoles. */
  readonly console?: ConsoleCapability<C>;
}

/** The contract of a platform. */
export type PlatformSpec<C, S = C> = PlatformCore<C, S> & PlatformCapabilities<C, S>;

type InDomain<T> = T & InFailureDomain;

/**
 * A platform with its configuration type closed over, so that platforms of different types share a list, and with the
 * defaults of absent capabilities.
 */
export type Platform = Omit<
  PlatformSpec<unknown>,
  | 'check'
  | 'config'
  | 'console'
  | 'failureDomains'
  | 'managedBy'
  | 'monitor'
  | 'network'
  | 'postJoin'
  | 'preflight'
  | 'preview'
  | 'providerIdOf'
  | 'usage'
> & {
  /** Others make its nodes. */
  readonly isExternal: boolean;
  managedBy(section: unknown): string | undefined;
  providerIdOf(facts: Facts): string | undefined;
  readonly config: Omit<Required<PlatformConfig<unknown>>, 'credentialsRef'> & {
    /** The Secret of one failure domain; `facts` are those of the existing machine. */
    credentialsRef(section: unknown, failureDomain: string | undefined, facts?: Facts): string | undefined;
  };
  check(context: InDomain<PlatformContext>): Promise<readonly Diagnostic[]>;
  readonly failureDomains: FailureDomains<unknown, unknown>;
  readonly network: Omit<NetworkCapability<unknown>, 'addressing'> & {
    addressing(section: unknown): Addressing;
    /** Whether all of its ProviderConfigs need a pool on the main network: the API server can then require one. */
    readonly alwaysNeedsPool: boolean;
  };
  preflight(context: InDomain<PreflightContext>): Promise<readonly Diagnostic[]>;
  readonly postJoin: readonly Step<StepContext>[];
  readonly monitor: Omit<MonitorCapability<unknown>, 'listen'> & {
    listen?(context: InDomain<PlatformContext>, listener: () => void): () => void;
  };
  readonly preview: ClosedPreviewCapability;
  readonly usage?: { read(context: InDomain<PlatformContext>): Promise<SystemUsage> };
  /** The consoles of a machine in a failure domain. */
  consoleLinks(section: unknown, failureDomain: string | undefined, facts: Facts): readonly ConsoleLink[];
};
