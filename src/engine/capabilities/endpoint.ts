import type { Facts, PlatformContext } from '../platform.ts';

/** A control plane of a cluster whose endpoint is led to it from outside. */
export interface ControlPlaneCandidate {
  /** What its steps learned. */
  readonly facts: Facts;
  /** Its API server can be expected to answer. */
  readonly works: boolean;
}

/** What is known when an endpoint does not answer that is led to control planes from outside. */
export type EndpointFailoverContext<C = unknown> = PlatformContext<C> & {
  /** The most trusted first. */
  readonly planes: readonly ControlPlaneCandidate[];
  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number>;
};
