import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { SecretString, SecretStrings } from '../lib/secret-string.ts';
import type { AddressClaim } from './address-claim.ts';
import type { ConnectionCache } from './connection.ts';
import type { HostClaim } from './host.ts';
import type { MachineDiskKey } from './machine-disk-key.ts';
import type { NodeHardware, NodeSpec, Owner } from './node.ts';
import type { Facts } from './step.ts';
import type { ClusterNodeClient, MaintenanceClient } from './talos-clients.ts';

/** The context of a step. */
export interface StepContext<C = unknown> {
  /** The platform's section of the ProviderConfig, parsed. */
  readonly config: C;
  /** The keys of the Secret that the platform section references. */
  readonly credentials: SecretStrings;
  readonly owner: Owner;
  /**
   * This platform cluster has taken the place of another one: a resource with our mark that nothing here knows may be in
   * use. Default: false.
   */
  readonly isImported?: boolean;
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
  isPoolAddress(address: string): boolean;
};
