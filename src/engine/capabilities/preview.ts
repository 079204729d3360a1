import type { NodeSpec, PlatformContext, StepContext } from '../platform.ts';
import type { HostView } from './hosts.ts';

/** What would become of one thing on the outside. */
export interface PreviewLine {
  /** `has`: it was made already. `refuses`: nothing would be done, and why. `unknown`: somebody has to look first. */
  readonly effect: 'makes' | 'has' | 'joins' | 'leads' | 'erases' | 'keeps' | 'protects' | 'refuses' | 'unknown';
  /** The thing, or a sentence. */
  readonly what: string;
}

/**
 * What is known of a machine that does not exist yet, or that does. Nothing in here can change anything. The facts are those
 * that it has; beside them `address`, `prefix` and `gateway` that it would be given. An installation that is not known is empty.
 */
export type PreviewContext<C = unknown> = Pick<
  StepContext<C>,
  'config' | 'credentials' | 'owner' | 'facts' | 'connections' | 'log' | 'clock' | 'signal'
> & {
  readonly node: Pick<StepContext<C>['node'], 'name' | 'role' | 'size' | 'site'>;
  /** The one that it holds or would be given; undefined where the platform has none, or none is left. */
  readonly host: HostView | undefined;
  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number>;
};

/** What is known of all machines of a cluster together that have a Host or would be given one. */
export type ClusterPreviewContext<C = unknown> = PlatformContext<C> & {
  readonly machines: readonly { readonly role: NodeSpec['role']; readonly host: HostView }[];
  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number>;
};
