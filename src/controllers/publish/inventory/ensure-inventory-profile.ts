import { fleetName } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { Namespace } from '../../../kube/core-types.ts';
import { isNotFound, isObjectNotFound } from '../../../kube/errors.ts';
import { objectKeyOf } from '../../../kube/resource.ts';
import type { TargetCluster } from '../../access-request/find-target-cluster.ts';
import { openTargetConnection } from '../../access-request/target-cluster/access-object-cache.ts';
import type { Services } from '../../shared/services.ts';
import { askCluster } from '../ask-cluster.ts';
import { describeHeld, foreignProblem, type PublicationProblem } from '../decide-form.ts';
import type { InventoryOptions, Publication } from '../publication.ts';
import { classifyPublished } from '../published-secret.ts';
import {
  changeClusterProperties,
  describeMembershipProperties,
  listClusterProperties,
  mirroredProperties,
  planClusterProperties,
} from './cluster-properties.ts';
import { decideHealth } from './decide-health.ts';
import {
  type ClusterFacts,
  describeInventoryProfile,
  describeProfileStatus,
  isSameStatus,
  mergeProfileConditions,
  planProfile,
} from './desired-profile.ts';
import { InventoryProfile } from './inventory-types.ts';

type ProfileServices = Pick<Services, 'kube' | 'provider' | 'clock' | 'stores' | 'targets' | 'environment'>;
type ProfilePublication = Publication & { readonly inventory: InventoryOptions };

/** `seconds`: when the health of the cluster may be another one. */
export type ProfileResult = { readonly problem: PublicationProblem } | { readonly seconds: number | undefined };

/** Brings the ClusterProfile, and the ClusterProperties in its cluster, to their desired state. Writes only differences. */
export async function ensureInventoryProfile(
  services: ProfileServices,
  publication: ProfilePublication,
  { ref, server }: TargetCluster,
  signal: AbortSignal,
): Promise<ProfileResult> {
  const { provider, clock, stores } = services;
  const found = await findProfile(services, publication, signal);
  if ('problem' in found) return found;
  const { client } = await openTargetConnection(services, ref, server);
  const inside = await ensureMembership(client, publication, provider, signal);
  if ('problem' in inside) return inside;
  const cluster = stores.clusters.get(ref);
  const known = found.object?.status?.conditions?.find(({ type }) => type === 'ControlPlaneHealthy')?.status;
  const health = decideHealth(reachableOf(cluster), known, clock.now());
  const facts = { server, ...inside, ...describeRunning(cluster), health: health.status };
  const profile = await writeProfile(services, publication, { found: found.object, facts }, signal);
  const status = describeProfileStatus(publication, facts, profile.status, clock.now());
  if (!isSameStatus(profile.status, status)) await writeStatus(services.kube, profile, status, signal);
  return { seconds: health.seconds };
}

/** While the cluster does not answer: only what the profile says of that. */
export async function reportInventoryHealth(
  services: ProfileServices,
  publication: ProfilePublication,
  signal: AbortSignal,
): Promise<ProfileResult> {
  const { clock, stores, kube } = services;
  const found = await findProfile(services, publication, signal);
  if ('problem' in found) return found;
  const conditions = found.object?.status?.conditions;
  const known = conditions?.find(({ type }) => type === 'ControlPlaneHealthy');
  if (!found.object || !conditions || !known) return { seconds: undefined };
  const { status, seconds } = decideHealth(
    reachableOf(stores.clusters.get(publication.cluster)),
    known.status,
    clock.now(),
  );
  if (status === known.status) return { seconds };
  const message = 'The API server does not answer.';
  const own = { type: known.type, status, reason: 'ProbeFailed', message };
  const joined = conditions.filter(({ type }) => type === 'Joined');
  await writeStatus(
    kube,
    found.object,
    { conditions: mergeProfileConditions(conditions, [own, ...joined], clock.now()) },
    signal,
  );
  return { seconds };
}

const reachableOf = (cluster: Cluster | undefined) =>
  cluster?.status?.conditions?.find(({ type }) => type === 'EndpointReachable');

function describeRunning(cluster: Cluster | undefined): Pick<ClusterFacts, 'kubernetes' | 'talos' | 'platform'> {
  const { kubernetesVersion, talosVersion, platform } = cluster?.status?.providerStatus ?? {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return { kubernetes: text(kubernetesVersion), talos: text(talosVersion), platform: text(platform) };
}

/** The profile of this Cluster, if there is one, or why its name cannot be used now. */
async function findProfile(
  { kube, provider }: Pick<Services, 'kube' | 'provider'>,
  publication: ProfilePublication,
  signal: AbortSignal,
): Promise<{ readonly object: InventoryProfile | undefined } | { readonly problem: PublicationProblem }> {
  const key = { namespace: publication.namespace, name: fleetName(publication.cluster) };
  try {
    const object = await kube.get(InventoryProfile, key, signal);
    const owner = classifyPublished(object, publication, provider);
    if (owner === 'other') return { problem: foreignProblem('ClusterProfile', object) };
    if (object.metadata.deletionTimestamp) return { problem: describeHeld('ClusterProfile', object) };
    if (owner === 'own') return { object };
    await removeProfile(kube, object, signal);
    return { object: undefined };
  } catch (error) {
    if (isObjectNotFound(error)) return { object: undefined };
    if (isNotFound(error)) return { problem: missingProfileCrd };
    throw error;
  }
}

const missingProfileCrd: PublicationProblem = {
  reason: 'CrdMissing',
  message:
    'spec.publish.clusterProfile: the platform cluster does not have the CustomResourceDefinition clusterprofiles.multicluster.x-k8s.io. Install it from config/crd/bases of kubernetes-sigs/cluster-inventory-api, or remove the section.',
};

const missingPropertyCrd: PublicationProblem = {
  reason: 'CrdMissing',
  message:
    'spec.publish.clusterProfile.clusterSet: the published cluster does not have the CustomResourceDefinition clusterproperties.about.k8s.io. Install it there from config/crd of kubernetes-sigs/about-api, or omit the field.',
};

/** The properties of the membership are in the cluster; those of others are returned. */
async function ensureMembership(
  client: KubeClient,
  { inventory }: ProfilePublication,
  provider: string,
  signal: AbortSignal,
): Promise<Pick<ClusterFacts, 'id' | 'mirrored'> | { readonly problem: PublicationProblem }> {
  const { metadata } = await askCluster('its namespaces', () => client.get(Namespace, { name: 'kube-system' }, signal));
  const id = metadata.uid ?? '';
  const found = await askCluster('its ClusterProperties', () => listClusterProperties(client, signal));
  const wanted = describeMembershipProperties(id, inventory.clusterSet);
  if (!found) return wanted.length > 0 ? { problem: missingPropertyCrd } : { id, mirrored: [] };
  const changes = planClusterProperties(wanted, found, provider);
  if (changes.problem) return { problem: changes.problem };
  await askCluster('its ClusterProperties', () => changeClusterProperties(client, changes, provider, signal));
  return { id, mirrored: mirroredProperties(found, provider) };
}

async function writeProfile(
  { kube, provider }: Pick<Services, 'kube' | 'provider'>,
  publication: ProfilePublication,
  { found, facts }: { readonly found: InventoryProfile | undefined; readonly facts: ClusterFacts },
  signal: AbortSignal,
): Promise<InventoryProfile> {
  const wanted = describeInventoryProfile(publication, provider);
  if (!found) return await kube.create(InventoryProfile, wanted, signal);
  switch (planProfile(wanted, found, facts)) {
    case 'keep':
      return found;
    case 'patch': {
      const { labels, annotations } = wanted.metadata;
      const patch = { metadata: { labels, annotations }, spec: { displayName: wanted.spec.displayName } };
      return await kube.merge(InventoryProfile, objectKeyOf(found), patch, {}, signal);
    }
    case 'replace':
      await removeProfile(kube, found, signal);
      return await kube.create(InventoryProfile, wanted, signal);
  }
}

async function removeProfile(kube: KubeClient, profile: InventoryProfile, signal: AbortSignal): Promise<void> {
  const { uid } = profile.metadata;
  await kube.remove(InventoryProfile, objectKeyOf(profile), uid ? { uid } : {}, signal);
}

/** Lists are replaced: the conditions of others are among them. */
async function writeStatus(
  kube: KubeClient,
  profile: InventoryProfile,
  status: NonNullable<InventoryProfile['status']>,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion } = profile.metadata;
  const options = { subresource: 'status', ...(resourceVersion && { resourceVersion }) } as const;
  await kube.merge(InventoryProfile, objectKeyOf(profile), { status }, options, signal);
}

/** Ends the membership of a cluster that is not published any more. */
export async function leaveClusterSet(client: KubeClient, provider: string, signal: AbortSignal): Promise<void> {
  const found = (await listClusterProperties(client, signal)) ?? [];
  await changeClusterProperties(client, planClusterProperties([], found, provider), provider, signal);
}
