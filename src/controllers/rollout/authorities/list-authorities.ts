import type { ProviderInstance } from '../../../api/names.ts';
import { isOwnCluster } from '../../cluster/cluster-responsibility.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import { findProviderConfig, findSecretsState } from '../../cluster/view.ts';
import type { Services } from '../../shared/services.ts';

/** A certificate authority of a Cluster for metrics. */
export interface ListedAuthority {
  /** Name of the ProviderConfig. */
  readonly config: string;
  readonly authority: string;
  readonly expiresAt: Date;
  readonly isRotating: boolean;
}

/** The authorities of all Clusters of this instance whose secrets can be used, from the caches. */
export const listAuthorities = (services: ProviderInstance & Pick<Services, 'stores'>): ListedAuthority[] =>
  services.stores.clusters.list().flatMap((cluster) => {
    const config = isOwnCluster(services, cluster) ? findProviderConfig(services, cluster) : undefined;
    const state = config && findSecretsState(services, clusterIdentityOf(cluster));
    if (state?.kind !== 'usable') return [];
    const { expiries, rotation } = state.secrets;
    return Object.entries(expiries).map(([authority, expiresAt]) => ({
      config: config?.metadata.name ?? '',
      authority: authority === 'os' ? 'talos' : authority,
      expiresAt,
      isRotating: rotation?.authority === authority,
    }));
  });
