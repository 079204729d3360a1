import { ClusterConfig } from '../../api/cluster-config.ts';
import { clusterIdentityKey } from '../../api/cluster-identity.ts';
import { Host, serverKeyOf } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { labels } from '../../api/names.ts';
import { NodePool } from '../../api/node-pool.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../api/openmcp/types.ts';
import { ProviderConfig } from '../../api/provider-config.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Secret } from '../../kube/core-types.ts';
import type { Indexes } from '../../kube/reflector/object-store.ts';
import { Reflector, type ReflectorObserver } from '../../kube/reflector/reflector.ts';
import { formatObjectKey } from '../../kube/resource.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Stores } from './services.ts';

/** The watches of one provider. Label selectors filter on the server, so other providers' Machines are never read. */
export function makeStores(
  kube: KubeClient,
  options: { provider: string; namespace: string; clock: Clock; log: Log; observer?: ReflectorObserver },
): Stores {
  const { provider, namespace, ...common } = options;
  const ours = `${labels.provider}=${provider}`;
  return {
    providerConfigs: new Reflector(kube, ProviderConfig, common),
    profiles: new Reflector(kube, ClusterProfile, common),
    clusterConfigs: new Reflector(kube, ClusterConfig, common),
    clusters: new Reflector(kube, Cluster, {
      ...common,
      indexes: { profile: (cluster) => [cluster.spec.profile], clusterConfig: clusterConfigKeysOf },
    }),
    machines: new Reflector(kube, Machine, {
      ...common,
      labelSelector: ours,
      indexes: { cluster: (machine) => [clusterIdentityKey(machine.spec.clusterRef)] },
    }),
    nodePools: new Reflector(kube, NodePool, {
      ...common,
      labelSelector: ours,
      indexes: { cluster: (nodePool) => [clusterIdentityKey(nodePool.spec.clusterRef)] },
    }),
    hosts: new Reflector(kube, Host, { ...common, indexes: hostIndexes }),
    accessRequests: new Reflector(kube, AccessRequest, {
      ...common,
      indexes: { cluster: (request) => (request.spec.clusterRef ? [formatObjectKey(request.spec.clusterRef)] : []) },
    }),
    secrets: new Reflector(kube, Secret, { ...common, namespace }),
    accessSecrets: new Reflector(kube, Secret, {
      ...common,
      name: 'access-secrets',
      labelSelector: `${ours},${labels.access}`,
    }),
  };
}

export const hostIndexes: Indexes<Host> = {
  machine: ({ status }) => (status?.machineRef ? [status.machineRef.uid] : []),
  server: (host) => [serverKeyOf(host)],
};

const clusterConfigKeysOf = ({ metadata, spec }: Cluster): string[] =>
  (spec.clusterConfigs ?? []).map(({ name }) => formatObjectKey({ namespace: metadata.namespace, name }));
