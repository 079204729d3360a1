import type { PlatformContext } from '../contexts.ts';
import type { Facts } from '../step.ts';

/** A control plane of a cluster whose endpoint address is routed to it by the platform. */
export interface ControlPlaneCandidate {
  /** The facts of its steps. */
  readonly facts: Facts;
  /** Its API server is expected to answer. */
  readonly isHealthy: boolean;
}

/**
 * The context of an endpoint failover: the endpoint is routed to a control plane by the platform and does not answer.
 */
export type EndpointFailoverContext<C = unknown> = PlatformContext<C> & {
  /** Ordered by trust, highest first. */
  readonly controlPlanes: readonly ControlPlaneCandidate[];
  /** IDs of all servers of this platform that have a Host. */
  hostedServers(): ReadonlySet<string>;
};

/** For platforms that route the endpoint of a cluster to one of its control planes. */
export interface EndpointCapability<C = unknown> {
  /**
   * Routes the endpoint to a working control plane, unless it already is. Called while the endpoint does not answer.
   * Returns a sentence on the action taken, if any. Does not wait for its completion.
   */
  failOver(context: EndpointFailoverContext<C>): Promise<string | undefined>;
}
