import { isConditionTrue } from '../../api/conditions.ts';
import { openmcpKeys } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ObjectChange } from '../../kube/reflector/object-store.ts';

/** Whether a change of a Cluster may change the access to it: those who wait for it are woken. */
export function isRelevantForAccess({ kind, object, before }: ObjectChange<Cluster>): boolean {
  if (kind !== 'updated' || !before) return kind !== 'resync';
  const seen = (cluster: Cluster): string =>
    JSON.stringify([
      cluster.status?.endpoints,
      cluster.status?.phase,
      cluster.status?.providerStatus?.['oidc'],
      isConditionTrue(cluster.status?.conditions, 'EndpointReachable'),
      cluster.metadata.deletionTimestamp,
      cluster.metadata.labels?.[openmcpKeys.provider],
    ]);
  return seen(object) !== seen(before);
}
