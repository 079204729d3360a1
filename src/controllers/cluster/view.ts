import { type ClusterIdentity, clusterIdentityKey, isSameCluster } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import {
  annotations,
  clusterProfileName,
  clusterSecretsName,
  controlPlanePool,
  instanceFinalizers,
  isHeldByOtherInstance,
  machineName,
  openmcpKeys,
  type ProviderInstance,
} from '../../api/names.ts';
import type { Cluster, NamespacedRef } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { findPlatformSection, type ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Addressing } from '../../engine/platform.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { isOwnProfile } from '../provider-config/cluster-profile.ts';
import { decideClusterTrust } from '../rollout/oidc-trust/decide-cluster-trust.ts';
import type { TrustDecision } from '../rollout/oidc-trust/decide-trust.ts';
import type { TrustRolloutState } from '../rollout/oidc-trust/roll-out-trust.ts';
import { type FixedEndpoint, fixedEndpointOf } from '../shared/addresses/fixed-endpoints.ts';
import { readClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import {
  assessClusterSecrets,
  type ClusterSecretsProblem,
  type ClusterSecretsState,
} from '../shared/secrets/cluster-secrets-state.ts';
import type { Services } from '../shared/services.ts';
import { addressingOf } from '../shared/spec/choose-platform.ts';
import { resolveDesiredSpec, type SpecRejection } from '../shared/spec/desired-spec.ts';
import { clusterIdentityOf, clusterOfMachine, findCluster, findClusterSecret, isOwnMachine } from './ownership.ts';

export { clusterIdentityOf, clusterOfMachine };

/** Where the API server of a cluster is reached. */
export interface ClusterEndpoint {
  /** Undefined while it is to be that of a control plane, and none has an address yet. */
  readonly url: string | undefined;
  /** Set when the control planes hold it themselves. */
  readonly virtualAddress: string | undefined;
}

/** One machine that a cluster is to have. */
export interface MachineSlot {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly pool: string;
  readonly slot: number;
  readonly size: string;
  /** Where it is to be made, once that is chosen among several places. */
  readonly site?: string | undefined;
}

/** The proof that a cluster can be called ready, made in this very reconcile. */
export type ApiServerProbe =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly message: string };

/** Everything that {@link decide} looks at. Fields that are undefined are not known yet. */
export interface ClusterView {
  readonly cluster: Cluster;
  readonly ref: ClusterIdentity;
  readonly config: ProviderConfig | undefined;
  /** What it is to be like, out of the config and its ClusterConfigs; undefined when that cannot be said. */
  readonly spec: ProviderConfigSpec | undefined;
  /** Why it cannot be like what its ClusterConfigs say. */
  readonly misfit: SpecRejection | undefined;
  readonly platform: string | undefined;
  /** What the platform does with addresses, by that spec. */
  readonly addressing: Addressing | undefined;
  /** The one place that all clusters of the config would be reached at, if it fixes one. */
  readonly fixedEndpoint: FixedEndpoint | undefined;
  /** The Cluster that has it, if that is another. */
  readonly endpointHolder: NamespacedRef | undefined;
  readonly secrets: ClusterSecrets | undefined;
  /** Why a Machine that it needs cannot be made: its name is that of another Cluster's. What exists is served all the same. */
  readonly nameTaken?: string | undefined;
  /** Why the Secret that should hold them cannot be used. */
  readonly trouble: ClusterSecretsProblem | undefined;
  /** The API server itself was asked for the Secret, not only the cache. */
  readonly sought?: boolean;
  /** What was last written down as the record of the cluster, as JSON: the same is not written twice in one look. */
  readonly recorded?: string | undefined;
  /** Why no address could be had for the endpoint. */
  readonly noAddress: string | undefined;
  readonly endpoint: ClusterEndpoint | undefined;
  readonly machines: readonly Machine[];
  readonly bootstrap: { readonly done: boolean; readonly message: string } | undefined;
  readonly proof: ApiServerProbe | undefined;
  /** Whom its API servers are to trust; undefined as long as that cannot be said. */
  readonly trust: TrustDecision | undefined;
  /** How far that has come, if it was looked at. */
  readonly roll: TrustRolloutState | undefined;
}

/**
 * Whether a Cluster is this provider's: by its profile as long as that exists, whether or not the ProviderConfig behind it
 * does. One that we hold by our finalizer and label stays ours when the profile was deleted by hand, so that it can still
 * be taken down. Any other Cluster whose profile does not exist is left alone, as the contract wants it.
 */
export function isOwnCluster(services: ProviderInstance & Pick<Services, 'stores'>, cluster: Cluster): boolean {
  const { environment, provider, stores } = services;
  const finalizer = instanceFinalizers(services).cluster;
  if (isHeldByOtherInstance(cluster.metadata.finalizers, finalizer)) return false;
  const profile = stores.profiles.get({ name: cluster.spec.profile });
  if (profile) return isOwnProfile(profile, environment, provider);
  const held = cluster.metadata.finalizers?.includes(finalizer) ?? false;
  return held && cluster.metadata.labels?.[openmcpKeys.provider] === provider;
}

/**
 * Whether a Cluster is served by another instance of this provider's name: one in another environment, whose profile names that, or
 * one in another namespace, whose finalizer it carries. Its AccessRequests name this provider all the same.
 */
export function isOfOtherInstance(
  services: ProviderInstance & Pick<Services, 'stores'>,
  { metadata, spec }: Cluster,
): boolean {
  const { environment, provider, stores } = services;
  const profile = stores.profiles.get({ name: spec.profile });
  const named = profile?.spec.providerRef.name ?? metadata.labels?.[openmcpKeys.provider];
  if (named !== provider) return false;
  const isElsewhere = profile !== undefined && !spec.profile.startsWith(clusterProfileName(environment, provider, ''));
  return isElsewhere || isHeldByOtherInstance(metadata.finalizers, instanceFinalizers(services).cluster);
}

/** Whether this instance serves a ProviderConfig: it names the provider, and no other instance of that name holds it. */
export const isOwnConfig = (instance: ProviderInstance, { spec, metadata }: ProviderConfig): boolean =>
  spec?.providerRef?.name === instance.provider &&
  !isHeldByOtherInstance(metadata.finalizers, instanceFinalizers(instance).providerConfig);

/** The ProviderConfig behind the profile of a Cluster. */
export function findProviderConfig(
  services: ProviderInstance & Pick<Services, 'stores'>,
  cluster: Cluster,
): ProviderConfig | undefined {
  const { environment, provider, stores } = services;
  return stores.providerConfigs
    .list()
    .find(
      (config) =>
        isOwnConfig(services, config) &&
        clusterProfileName(environment, provider, config.metadata.name) === cluster.spec.profile,
    );
}

/** What the stores know of a Cluster right now. */
export function buildClusterView(services: Services, cluster: Cluster): ClusterView {
  const ref = clusterIdentityOf(cluster);
  const config = findProviderConfig(services, cluster);
  const wish = config && resolveDesiredSpec(services, config, cluster);
  const spec = wish && 'spec' in wish ? wish.spec : undefined;
  const object = findSecretByName(services, ref);
  const machines = machinesOfCluster(services, ref);
  const { secrets, trouble } = toSecretsView(assessSecretsOfCluster(services, { object, cluster, machines }));
  const fixed = spec && fixedEndpointOf(services.platforms, spec);
  return {
    cluster,
    ref,
    config,
    spec,
    misfit: wish && 'refused' in wish ? wish.refused : undefined,
    platform: (spec && findPlatformSection(spec)?.name) ?? machines[0]?.spec.platform,
    addressing: spec && addressingOf(services.platforms, spec),
    fixedEndpoint: fixed,
    endpointHolder: object || trouble || !fixed ? undefined : findOtherEndpointOwner(services, cluster),
    secrets,
    trouble,
    noAddress: undefined,
    endpoint: undefined,
    machines,
    bootstrap: undefined,
    proof: undefined,
    trust: spec && config ? decideTrustForView(services, ref, config, spec, secrets) : undefined,
    roll: undefined,
  };
}

/** Whom the API servers of a Cluster are to trust, by what is written down about it since the view was taken. */
export function redecideTrust(
  services: Services,
  view: ClusterView,
  secrets: ClusterView['secrets'],
): ClusterView['trust'] {
  const { ref, config, spec } = view;
  return config && spec ? decideTrustForView(services, ref, config, spec, secrets) : undefined;
}

/** Whom the API servers of a Cluster are to trust. */
function decideTrustForView(
  services: Services,
  ref: ClusterIdentity,
  config: ProviderConfig,
  spec: ProviderConfigSpec,
  secrets: ClusterSecrets | undefined,
): TrustDecision {
  const machines = machinesOfCluster(services, ref);
  const endpoint = machines[0]?.spec.endpoint ?? secrets?.endpoint;
  return decideClusterTrust(services, {
    ref,
    config: config.metadata.name,
    spec,
    record: secrets?.trust,
    machines,
    endpoint,
  });
}

type SecretsInput = Pick<ClusterView, 'cluster' | 'machines'> & { readonly object: KubeSecret | undefined };

/** How a Secret stands to what else is known of its Cluster. */
export function assessSecretsOfCluster(
  services: Pick<Services, 'namespace'>,
  { object, cluster, machines }: SecretsInput,
): ClusterSecretsState {
  const place = `${services.namespace}/${clusterSecretsName(clusterIdentityOf(cluster))}`;
  return assessClusterSecrets({ object, place, cluster, machines });
}

/** The same for a view. A Secret that cannot be used is not a missing one: nothing is ever made in its place. */
export const toSecretsView = (state: ClusterSecretsState): Pick<ClusterView, 'secrets' | 'trouble'> => ({
  secrets: state.kind === 'usable' ? state.secrets : undefined,
  trouble: state.kind === 'unusable' ? state.trouble : undefined,
});

/** By what the caches hold. `undefined` where there is no such Cluster. */
export function findSecretsState(
  services: ProviderInstance & Pick<Services, 'stores'>,
  ref: ClusterIdentity,
): ClusterSecretsState | undefined {
  const cluster = findCluster(services.stores, ref);
  if (!cluster) return undefined;
  const object = findSecretByName(services, ref);
  return assessSecretsOfCluster(services, { object, cluster, machines: machinesOfCluster(services, ref) });
}

/** Whether it belongs to that Cluster is for {@link assessSecretsOfCluster} to say. */
const findSecretByName = (services: Pick<Services, 'stores' | 'namespace'>, ref: ClusterIdentity) =>
  services.stores.secrets.get({ namespace: services.namespace, name: clusterSecretsName(ref) });

/**
 * Of the Clusters that want the same endpoint one gets it: that which has its secrets already, or had them before they were lost, else
 * the oldest.
 */
function findOtherEndpointOwner(services: Services, cluster: Cluster): NamespacedRef | undefined {
  const isMade = (one: Cluster): boolean =>
    findClusterSecret(services, clusterIdentityOf(one)) !== undefined || readClusterRecord(one) !== undefined;
  const rank = (one: Cluster): string => `${isMade(one) ? 0 : 1} ${one.metadata.creationTimestamp} ${one.metadata.uid}`;
  const [first] = [...services.stores.clusters.by('profile', cluster.spec.profile)].sort((a, b) =>
    rank(a) < rank(b) ? -1 : 1,
  );
  return first && first.metadata.uid !== cluster.metadata.uid ? clusterIdentityOf(first) : undefined;
}

/** The Machines of a Cluster, control planes first, in the order of their slots. */
export function machinesOfCluster(
  services: ProviderInstance & Pick<Services, 'stores'>,
  ref: ClusterIdentity,
): Machine[] {
  const indexed = services.stores.machines.by('cluster', clusterIdentityKey(ref));
  const all = indexed.filter((one) => isSameCluster(clusterOfMachine(one), ref) && isOwnMachine(services, one.spec));
  return all.sort(
    (a, b) => roleOrder(a) - roleOrder(b) || a.spec.pool.localeCompare(b.spec.pool) || a.spec.slot - b.spec.slot,
  );
}

const roleOrder = (machine: Machine): number => (machine.spec.role === 'controlplane' ? 0 : 1);

/** What the Cluster wants the names of its nodes to begin with, if not with its own name. */
export const readDesiredNodePrefix = ({ cluster }: Pick<ClusterView, 'cluster'>): string | undefined =>
  cluster.metadata.annotations?.[annotations.nodePrefix];

/** The machines that a spec asks for; none when there is no spec. */
export function listDesiredSlots({
  ref,
  spec,
  secrets,
}: Pick<ClusterView, 'spec'> & {
  readonly ref: NamespacedRef;
  readonly secrets: Pick<ClusterSecrets, 'nodePrefix'> | undefined;
}): MachineSlot[] {
  if (!spec) return [];
  const numbered = (count: number, role: MachineSlot['role'], pool: string, size: string): MachineSlot[] =>
    Array.from({ length: count }, (_, slot) => ({
      name: machineName(ref, pool, slot, secrets?.nodePrefix),
      role,
      pool,
      slot,
      size,
    }));
  return [
    ...numbered(spec.controlPlane.replicas, 'controlplane', controlPlanePool, spec.controlPlane.size),
    ...spec.workerPools.flatMap((pool) => numbered(pool.replicas, 'worker', pool.name, pool.size)),
  ];
}

/** Facts of a Machine's steps, by name. */
export const readMachineFact = (machine: Machine, name: string): string | undefined => {
  const value = machine.status?.progress?.facts[name];
  return value === undefined ? undefined : String(value);
};
