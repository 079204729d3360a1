import type { PlatformContext, StepContext } from '../contexts.ts';
import type { HostView } from '../host.ts';
import type { NodeHardware, NodeSpec } from '../node.ts';

/** The predicted effect on one resource. */
export interface PreviewLine {
  /**
   * `has`: it exists already. `blocked`: nothing would be done, and why. `unknown`: it depends on an observation that
   * has not been made.
   */
  readonly effect: 'creates' | 'has' | 'joins' | 'routes' | 'erases' | 'keeps' | 'protects' | 'blocked' | 'unknown';
  /** The resource, or a sentence. */
  readonly subject: string;
}

/**
 * The context of a preview, for a machine that exists or not. It cannot change anything. The facts are those of the
 * machine, plus the `address`, `prefix` and `gateway` that it would get. An unknown installation is empty.
 */
export type PreviewContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'owner' | 'facts' | 'connections' | 'log' | 'clock' | 'signal'
> & {
  readonly node: Pick<StepContext<C>['node'], 'name' | 'role' | 'size' | 'failureDomain'>;
  /** The Host that the machine holds or would get; undefined where the platform has no Hosts, or none is left. */
  readonly host: HostView | undefined;
  /** IDs of all servers of this platform that have a Host. */
  hostedServers(): ReadonlySet<string>;
};

/** The context of a preview of all machines of a cluster that have a Host or would get one. */
export type ClusterPreviewContext<C = unknown> = PlatformContext<C> & {
  readonly machines: readonly { readonly role: NodeSpec['role']; readonly host: HostView }[];
  /** IDs of all servers of this platform that have a Host. */
  hostedServers(): ReadonlySet<string>;
};

/** For platforms that can predict the effects of creating a machine. */
export interface PreviewCapability<C> {
  /** Read-only: the effects on existing resources if a machine were created now. */
  machine(context: PreviewContext<C>): Promise<readonly PreviewLine[]>;
  /** Read-only: the same for the resources that the machines of a cluster share. Default: nothing. */
  cluster?(context: ClusterPreviewContext<C>): Promise<readonly PreviewLine[]>;
  /**
   * The hardware that a machine's configuration would be rendered for. Default, and undefined: unknown before the
   * machine is created.
   */
  hardware?(context: PreviewContext<C>): NodeHardware | undefined;
}

export type ClosedPreviewCapability = Required<PreviewCapability<unknown>>;
