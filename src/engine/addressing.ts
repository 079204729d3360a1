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

/** A host with another owner, and the path of the field that names it. */
export interface ConfiguredHost {
  readonly field: string;
  /** Name or address, without a port and without brackets. */
  readonly host: string;
}
