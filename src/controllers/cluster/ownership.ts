import { belongsToCluster, type ClusterIdentity, isSameCluster } from '../../api/cluster-identity.ts';
import { clusterSecretsName } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import type { Services } from '../shared/services.ts';
import { clusterIdentityOf } from './identity.ts';

type SecretSource = Pick<Services, 'namespace'> & {
  readonly stores: { readonly secrets: Pick<Services['stores']['secrets'], 'get'> };
};

/** The Secret of a Cluster; undefined if it does not exist or belongs to another Cluster. */
export function findClusterSecret(
  { stores, namespace }: SecretSource,
  cluster: ClusterIdentity,
): KubeSecret | undefined {
  const object = stores.secrets.get({ namespace, name: clusterSecretsName(cluster) });
  return object && belongsToCluster(object.metadata, cluster) ? object : undefined;
}

/** The Cluster with this identity; undefined if it is gone, even if another Cluster has its name now. */
export function findCluster(
  stores: { readonly clusters: Pick<Services['stores']['clusters'], 'get'> },
  cluster: ClusterIdentity,
): Cluster | undefined {
  const object = stores.clusters.get(cluster);
  return object && isSameCluster(clusterIdentityOf(object), cluster) ? object : undefined;
}
