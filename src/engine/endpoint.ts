import type { CheckContext, Facts } from './platform.ts';

/** A control plane of a cluster whose endpoint is led to it from outside. */
export interface Plane {
  /** What its steps learned. */
  readonly facts: Facts;
  /** Its API server can be expected to answer. */
  readonly works: boolean;
}

/** What is known when an endpoint does not answer that is led to control planes from outside. */
export type EndpointContext<C = unknown> = CheckContext<C> & {
  /** The most trusted first. */
  readonly planes: readonly Plane[];
  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number>;
};
