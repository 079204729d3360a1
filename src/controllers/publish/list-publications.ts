import { isConditionTrue } from '../../api/conditions.ts';
import type { ProviderInstance } from '../../api/names.ts';
import { isOwnCluster } from '../cluster/cluster-responsibility.ts';
import { findProviderConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';

/** A Cluster that is, or is to be, published, for metrics. */
export interface ListedPublication {
  /** Name of the ProviderConfig. */
  readonly config: string;
  readonly isPublished: boolean;
}

/** The Clusters of this instance with the condition `Published`, from the caches. */
export const listPublications = (services: ProviderInstance & Pick<Services, 'stores'>): ListedPublication[] =>
  services.stores.clusters.list().flatMap((cluster) => {
    const { conditions } = cluster.status ?? {};
    if (!conditions?.some(({ type }) => type === 'Published') || !isOwnCluster(services, cluster)) return [];
    const config = findProviderConfig(services, cluster);
    return config ? [{ config: config.metadata.name, isPublished: isConditionTrue(conditions, 'Published') }] : [];
  });
