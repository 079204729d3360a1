import type { Cluster, NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { ObjectMeta } from '../../../src/kube/resource.ts';
import { hashNames, shortenName } from '../../../src/lib/hash.ts';
import type { ClusterRequest } from './cluster-request.ts';
import type { ClusterDefinition, OperatorConfig } from './config.ts';

/** The tenancy of Clusters. */
export type SchedulingConfig = OperatorConfig['scheduler'];

const tenantPrefix = 'request.clusters.openmcp.cloud/';
const randomName = 'clusters.openmcp.cloud/randomize-cluster-name';
const longestName = 63;

/** The maximum number of requests of a Cluster. */
export const tenantCount = ({ metadata }: Cluster): number =>
  (metadata.finalizers ?? []).filter((name) => name.startsWith(tenantPrefix)).length;

/** The existing Cluster for a request, if its purpose is shared and a Cluster has capacity. */
export function chooseCluster(
  clusters: readonly Cluster[],
  { template, tenancyCount }: ClusterDefinition,
  strategy: SchedulingConfig['strategy'],
): Cluster | undefined {
  if (template.spec.tenancy !== 'Shared') return undefined;
  const open = clusters
    .filter((cluster) => cluster.metadata.deletionTimestamp === undefined)
    .filter((cluster) => tenancyCount === 0 || tenantCount(cluster) < tenancyCount);
  if (strategy === 'Simple') return open[0];
  if (strategy === 'Random') return open[Math.floor(Math.random() * open.length)];
  return open.reduce<Cluster | undefined>(
    (best, cluster) => (best === undefined || tenantCount(cluster) < tenantCount(best) ? cluster : best),
    undefined,
  );
}

/** A new Cluster for a request, by the template of its purpose. `again` names a lost one that is recreated. */
export function describeCluster(
  request: ClusterRequest,
  definition: ClusterDefinition,
  finalizer: string,
  again?: NamespacedRef,
): Cluster {
  const { metadata, spec } = definition.template;
  const { purpose } = request.spec;
  const purposes = spec.purposes ?? [];
  return {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'Cluster',
    metadata: {
      ...newClusterName(request, definition),
      namespace: metadata.namespace ?? request.metadata.namespace ?? '',
      ...again,
      finalizers: [finalizer],
      ...(metadata.labels && { labels: metadata.labels }),
      ...(metadata.annotations && { annotations: metadata.annotations }),
    },
    // The operator always writes `kubernetes`, empty or not.
    spec: {
      kubernetes: {},
      ...(spec as Cluster['spec']),
      purposes: purposes.includes(purpose) ? purposes : [...purposes, purpose],
    },
  };
}

/** A single shared Cluster has a plain name; otherwise each is named after its request. */
function newClusterName(
  request: ClusterRequest,
  { template: { metadata, spec }, tenancyCount }: ClusterDefinition,
): Pick<ObjectMeta, 'name' | 'generateName'> {
  const { purpose } = request.spec;
  const isSingle = spec.tenancy === 'Shared' && tenancyCount === 0;
  if (isSingle && !metadata.generateName) return { name: metadata.name ?? purpose };
  const prefix = metadata.generateName ?? `${purpose}-`;
  if (request.metadata.labels?.[randomName] === 'true') return { name: '', generateName: prefix };
  const hash = hashNames(request.metadata.namespace ?? '', request.metadata.name);
  return { name: prefix + shortenName(hash, longestName - prefix.length) };
}
