import { ClusterConfigSpec } from '../../api/cluster-config.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { PublishSpec } from '../../api/schema/publish-schema.ts';
import { clusterIdentityOf } from '../cluster/identity.ts';
import { findProviderConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { describePublications, type Publication } from './publication.ts';

type PublicationSources = Pick<Services, 'environment' | 'provider' | 'namespace' | 'stores'>;

/**
 * The forms in which a Cluster is to be published. Undefined while that cannot be told, because its ProviderConfig or a
 * ClusterConfig is missing or not valid: everything stays as it is.
 */
export function listSelectedPublications(services: PublicationSources, cluster: Cluster): Publication[] | undefined {
  const config = findProviderConfig(services, cluster);
  const parsed = config && parseSpec(config);
  if (!parsed?.success) return undefined;
  const { publish } = parsed.data;
  if (!publish) return [];
  const isSelected = isClusterSelected(services, cluster, publish.clusters);
  if (isSelected === undefined) return undefined;
  const { environment, provider } = services;
  const about = { environment, provider, cluster: clusterIdentityOf(cluster) };
  return isSelected ? describePublications(publish, about) : [];
}

/** The last ClusterConfig that says something counts. */
function isClusterSelected(
  { stores }: PublicationSources,
  { spec, metadata: { namespace } }: Cluster,
  clusters: PublishSpec['clusters'],
): boolean | undefined {
  let isSelected = clusters === 'All';
  for (const { name } of spec.clusterConfigs ?? []) {
    const parsed = ClusterConfigSpec.safeParse(stores.clusterConfigs.get({ namespace, name })?.spec);
    if (!parsed.success) return undefined;
    isSelected = parsed.data.publish?.enabled ?? isSelected;
  }
  return isSelected;
}
