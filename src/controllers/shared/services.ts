import type { ClusterConfig } from '../../api/cluster-config.ts';
import type { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import type { NodePool } from '../../api/node-pool.ts';
import type { AccessRequest, Cluster, ClusterProfile } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { ConnectionCache } from '../../engine/connection.ts';
import type { Platform } from '../../engine/platform.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Secret } from '../../kube/core-types.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import type { Reflector } from '../../kube/reflector/reflector.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { ProviderObserver } from '../../lib/observers.ts';
import type { WorkTracer } from '../../lib/work-tracer.ts';
import type { HostClaims } from '../host/host-claims.ts';
import type { AddressLeases } from './addresses/address-leases.ts';
import type { NodeWatches } from './nodes/node-watches.ts';
import type { TargetClients } from './target-clients.ts';

/** The caches of platform cluster objects, updated by watches. */
export interface Stores {
  readonly providerConfigs: Reflector<ProviderConfig>;
  readonly profiles: Reflector<ClusterProfile>;
  readonly clusterConfigs: Reflector<ClusterConfig>;
  /** Indexes: `profile`, and `clusterConfig` by `namespace/name`. */
  readonly clusters: Reflector<Cluster>;
  /** Only this provider's. Index `cluster` by `identityText`. */
  readonly machines: Reflector<Machine>;
  /** Only this provider's. Index `cluster` by `identityText`. */
  readonly nodePools: Reflector<NodePool>;
  /** The Hosts of all providers. Indexes: `machine` by the UID of the holder, and `server` by platform and ID. */
  readonly hosts: Reflector<Host>;
  /**
   * All requests: a request that was ours and was assigned to another provider, even while this process was not
   * running, must be released. Index `cluster` by `namespace/name`.
   */
  readonly accessRequests: Reflector<AccessRequest>;
  /** All Secrets of the provider's own namespace: credentials and cluster secrets. */
  readonly secrets: Reflector<Secret>;
  /** Secrets with granted kubeconfigs, in all namespaces. */
  readonly accessSecrets: Reflector<Secret>;
}

/** The dependencies of the controllers, created once by `run`. */
export interface Services {
  readonly environment: string;
  /** `--provider-name`. */
  readonly provider: string;
  readonly namespace: string;
  /** Version of the provider. */
  readonly release: string;
  /** Identifies this installation on shared hardware: {@link Installation.id}. */
  readonly installation: string;
  /** {@link Installation.isImported}. Default: false. */
  readonly isImported?: boolean;
  readonly kube: KubeClient;
  readonly stores: Stores;
  readonly platforms: readonly Platform[];
  readonly connections: ConnectionCache;
  readonly addresses: AddressLeases;
  readonly hosts: HostClaims;
  readonly targets: TargetClients;
  readonly nodes: NodeWatches;
  readonly events: EventRecorder;
  readonly observer: ProviderObserver;
  /** Absent: nothing is traced. */
  readonly tracer?: WorkTracer;
  readonly clock: Clock;
  readonly log: Log;
}
