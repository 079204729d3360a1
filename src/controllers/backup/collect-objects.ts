import { belongsToCluster } from '../../api/cluster-identity.ts';
import { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import { clusterId, labels } from '../../api/names.ts';
import { NodePool } from '../../api/node-pool.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { Lease } from '../../kube/core-types.ts';
import type { KubeObject } from '../../kube/resource.ts';
import type { SecretString } from '../../lib/secret-string.ts';
import { clusterIdentityOf, isOfCluster } from '../cluster/identity.ts';
import { toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import { type ClusterObjects, renderClusterObjects } from './cluster-objects.ts';

interface ObjectsSource {
  readonly kube: Pick<KubeClient, 'list'>;
  /** The provider's own. */
  readonly namespace: string;
  readonly installation: string;
  readonly now: Date;
}

/** Reads everything but Secrets that the platform cluster holds of a cluster. */
export async function collectClusterObjects(
  { kube, namespace, installation, now }: ObjectsSource,
  { cluster, secrets, machines }: CollectedCluster,
  signal: AbortSignal,
): Promise<SecretString> {
  const identity = clusterIdentityOf(cluster);
  const ofCluster = { labelSelector: `${labels.cluster}=${clusterId(identity)}` };
  const [hosts, nodePools, leases] = await Promise.all([
    kube.list(Host, {}, signal),
    kube.list(NodePool, ofCluster, signal),
    kube.list(Lease, { namespace, labelSelector: labels.address }, signal),
  ]);
  // One in deletion does not come back, and its steps cannot be undone.
  const lasting = machines.filter(({ metadata }) => !metadata.deletionTimestamp);
  const uids = new Set(lasting.map(({ metadata }) => metadata.uid));
  return renderClusterObjects({
    time: now.toISOString(),
    installation,
    cluster: {
      metadata: { ...describeMetadata(cluster), namespace: identity.namespace, uid: identity.uid },
      spec: { ...cluster.spec },
      record: { ...toClusterRecord(secrets) },
    },
    machines: lasting.flatMap(({ metadata, spec, status }) =>
      status ? [{ metadata: { ...describeMetadata({ metadata }), uid: metadata.uid ?? '' }, spec, status }] : [],
    ),
    nodePools: nodePools.items
      .filter((pool) => isOfCluster(pool, identity))
      .map(({ metadata, spec: { machinesToDelete: _, ...spec } }) => ({
        metadata: describeMetadata({ metadata }),
        spec,
      })),
    hosts: hosts.items.flatMap(({ metadata, spec, status }) =>
      status && uids.has(status.machineRef?.uid) ? [{ metadata: describeMetadata({ metadata }), spec, status }] : [],
    ),
    addresses: leases.items
      .filter(({ metadata }) => belongsToCluster(metadata, identity))
      .map(({ metadata, spec }) => ({
        metadata: describeMetadata({ metadata }),
        spec: { holderIdentity: spec?.holderIdentity ?? '' },
      })),
  });
}

/** What is collected of is known already. */
export interface CollectedCluster {
  readonly cluster: Cluster;
  readonly secrets: ClusterSecrets;
  readonly machines: readonly Machine[];
}

/** `kubectl apply` keeps a copy of the whole object in an annotation. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function describeMetadata({ metadata }: Pick<KubeObject, 'metadata'>): ClusterObjects['nodePools'][number]['metadata'] {
  const { name, labels: own = {}, annotations: { [lastApplied]: _, ...kept } = {} } = metadata;
  return { name, labels: own, annotations: kept };
}
