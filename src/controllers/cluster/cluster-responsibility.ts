import {
  clusterProfileName,
  instanceFinalizers,
  isHeldByOtherInstance,
  openmcpKeys,
  type ProviderInstance,
} from '../../api/names.ts';
import { Cluster } from '../../api/openmcp/types.ts';
import { createKeySource, type KeySource } from '../../kube/controller/controller.ts';
import { type ObjectKey, objectKeyOf } from '../../kube/resource.ts';
import { isOwnProfile } from '../provider-config/cluster-profile.ts';
import { hasIgnoreOperation } from '../shared/objects.ts';
import type { Services, Stores } from '../shared/services.ts';
import { newestKnown } from '../shared/status-writes.ts';

type ProfileSource = ProviderInstance & {
  readonly stores: { readonly profiles: Pick<Stores['profiles'], 'get'> };
};

/**
 * Whether a Cluster belongs to this provider. Its profile decides as long as that exists, with or without its
 * ProviderConfig. If the profile was deleted manually, our finalizer and label prove the ownership, so that the Cluster
 * can still be deleted. Any other Cluster without a profile is ignored, as the contract requires.
 */
export function isOwnCluster(services: ProfileSource, cluster: Cluster): boolean {
  const { environment, provider, stores } = services;
  const finalizer = instanceFinalizers(services).cluster;
  if (isHeldByOtherInstance(cluster.metadata.finalizers, finalizer)) return false;
  const profile = stores.profiles.get({ name: cluster.spec.profile });
  if (profile) return isOwnProfile(profile, environment, provider);
  const held = cluster.metadata.finalizers?.includes(finalizer) ?? false;
  return held && cluster.metadata.labels?.[openmcpKeys.provider] === provider;
}

/**
 * Whether another instance of this provider's name owns a Cluster: one in another environment, which the profile names,
 * or one in another namespace, whose finalizer the Cluster has. Its AccessRequests name this provider as well.
 */
export function isOfOtherInstance(services: ProfileSource, { metadata, spec }: Cluster): boolean {
  const { environment, provider, stores } = services;
  const profile = stores.profiles.get({ name: spec.profile });
  const named = profile?.spec.providerRef.name ?? metadata.labels?.[openmcpKeys.provider];
  if (named !== provider) return false;
  const isOfOtherProvider =
    profile !== undefined && !spec.profile.startsWith(clusterProfileName(environment, provider, ''));
  return isOfOtherProvider || isHeldByOtherInstance(metadata.finalizers, instanceFinalizers(services).cluster);
}

/** The newest known state of a Cluster of this provider, for a controller that reads it only. Undefined if it is to be left alone. */
export function findServedCluster(services: Services, key: ObjectKey): Cluster | undefined {
  const cached = services.stores.clusters.get(key);
  const cluster = cached && newestKnown(services.kube, Cluster, cached);
  return cluster && isOwnCluster(services, cluster) && !hasIgnoreOperation(cluster) ? cluster : undefined;
}

/** Wakes Clusters when their profile, which decides about the responsibility for them, appears, changes or goes. */
export const profileKeySource = ({ clusters, profiles }: Pick<Stores, 'clusters' | 'profiles'>): KeySource =>
  createKeySource(profiles, ({ kind, object }) =>
    kind === 'resync' ? [] : clusters.by('profile', object.metadata.name).map(objectKeyOf),
  );
