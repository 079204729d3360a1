import { type ClusterIdentity, clusterIdentityKey } from '../../api/cluster-identity.ts';
import { isExternalMachine, type Machine } from '../../api/machine.ts';
import {
  annotations,
  clusterProfileName,
  clusterSecretsName,
  instanceFinalizers,
  isHeldByOtherInstance,
  type ProviderInstance,
} from '../../api/names.ts';
import type { NodePool } from '../../api/node-pool.ts';
import type { Cluster, NamespacedRef } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { findPlatformSection, type ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Addressing } from '../../engine/addressing.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import type { SiteProblem } from '../remediation/decide-remediation.ts';
import { listRemediations, type Remediation } from '../remediation/remediation-record.ts';
import { findSiteProblems } from '../remediation/site-problems.ts';
import type { UpgradeView } from '../rollout/kubernetes/decide-upgrade.ts';
import { decideClusterTrust } from '../rollout/oidc-trust/decide-cluster-trust.ts';
import type { TrustDecision } from '../rollout/oidc-trust/decide-trust.ts';
import type { TrustRolloutState } from '../rollout/oidc-trust/roll-out-trust.ts';
import { hashSpec } from '../rollout/spec-hash.ts';
import type { StartObstacle } from '../rollout/start-update.ts';
import { type FixedEndpoint, fixedEndpointOf } from '../shared/addresses/fixed-endpoints.ts';
import { readClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import {
  assessClusterSecrets,
  type ClusterSecretsProblem,
  type ClusterSecretsState,
} from '../shared/secrets/cluster-secrets-state.ts';
import { isBeingRestored } from '../shared/secrets/restore-record.ts';
import type { Services } from '../shared/services.ts';
import { shortageReasonsOf } from '../shared/shortage-reasons.ts';
import { addressingOf } from '../shared/spec/choose-platform.ts';
import { resolveDesiredSpec, type SpecRejection } from '../shared/spec/desired-spec.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { clusterIdentityOf, clusterOfMachine, isOwnOfCluster } from './identity.ts';
import { findCluster, findClusterSecret } from './ownership.ts';

export { clusterIdentityOf, clusterOfMachine };

export interface ClusterEndpoint {
  /** Undefined while no control plane has an address, if the endpoint is the address of a control plane. */
  readonly url: string | undefined;
  /** Set if the control planes hold the address themselves. */
  readonly virtualAddress: string | undefined;
}

/** The result of a request to the API server in this reconcile. */
export type ApiServerProbe =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly message: string };

/** The input of {@link decideCluster}. Undefined fields are not known yet. */
export interface ClusterView {
  readonly cluster: Cluster;
  readonly ref: ClusterIdentity;
  readonly config: ProviderConfig | undefined;
  /** The ProviderConfig merged with the ClusterConfigs of the Cluster; undefined if it cannot be determined. */
  readonly spec: ProviderConfigSpec | undefined;
  /**
   * Who makes and changes its nodes, if that is not the provider: it was adopted, or is to be. Then `spec` is undefined,
   * because nothing is to be brought about.
   */
  readonly managedBy?: string | undefined;
  /** Why the ClusterConfigs cannot be applied. */
  readonly configMismatch: SpecRejection | undefined;
  readonly platform: string | undefined;
  /** The platform can change the hardware of existing Machines, so that they follow the size of their pool. */
  readonly followsSize?: boolean;
  /** Reasons with which a Machine waits for what the platform, or the pool of addresses, does not have. */
  readonly shortageReasons?: readonly string[];
  /** How the platform assigns addresses for this spec. */
  readonly addressing: Addressing | undefined;
  /** The endpoint that the ProviderConfig fixes for its only cluster. */
  readonly fixedEndpoint: FixedEndpoint | undefined;
  /** The other Cluster that holds this endpoint. */
  readonly endpointHolder: NamespacedRef | undefined;
  readonly secrets: ClusterSecrets | undefined;
  /** Etcd is being restored from a backup: nothing else is changed. */
  readonly isRestoring?: boolean;
  /**
   * Why a missing Machine cannot be created: its name belongs to a Machine of another Cluster. Existing Machines are
   * reconciled anyway.
   */
  readonly nameTaken?: string | undefined;
  /** Why the Secret of the cluster cannot be used. */
  readonly secretsProblem: ClusterSecretsProblem | undefined;
  /** The Secret was read from the API server and not only from the cache. */
  readonly searched?: boolean;
  /** The cluster record last written in this reconcile, as JSON: prevents a second write of the same record. */
  readonly recorded?: string | undefined;
  /** Why no address could be claimed for the endpoint. */
  readonly noAddress: string | undefined;
  readonly endpoint: ClusterEndpoint | undefined;
  readonly machines: readonly Machine[];
  /** The existing NodePools, one for each worker pool. */
  readonly nodePools: readonly NodePool[];
  readonly bootstrap: { readonly done: boolean; readonly message: string } | undefined;
  readonly proof: ApiServerProbe | undefined;
  /** The OIDC issuers that the API servers must trust; undefined while this cannot be decided. */
  readonly trust: TrustDecision | undefined;
  /** The progress of the rollout, if it was observed. */
  readonly trustRollout: TrustRolloutState | undefined;
  /** Why the next Machine could not be updated in this reconcile. */
  readonly updateObstacle?: StartObstacle | undefined;
  /** What this reconcile has found out about the upgrade of Kubernetes. */
  readonly upgrade?: Pick<UpgradeView, 'preparation' | 'manifests'> | undefined;
  /** Whether nodes and clients have the phase of a rotation, if this reconcile has asked them. */
  readonly rotationCheck?: { readonly problem: string | undefined } | undefined;
  /** Hash of the ProviderConfig without ClusterConfigs; undefined if it is not valid. */
  readonly revision: string | undefined;
  /** Version of the provider. */
  readonly release: string;
  /** When the view was built. */
  readonly now: Date;
  readonly scaleDownObstacles?: readonly ScaleDownObstacle[] | undefined;
  /** How often the platform restarts the machine of an unhealthy node before it is replaced. */
  readonly restartAttempts?: number | undefined;
  /** What was done for unhealthy nodes within the last day. */
  readonly remediations?: readonly Remediation[];
  /** The unhealthy Machines for which nodes of other clusters failed at the same time. */
  readonly siteProblems?: ReadonlyMap<string, SiteProblem>;
  /** Why the remediation of an unhealthy node could not begin in this reconcile. */
  readonly remediationObstacle?: string | undefined;
}

/** Why no Machine of a pool could be deleted in this reconcile. */
export interface ScaleDownObstacle {
  readonly pool: string;
  readonly message: string;
}

/**
 * Whether this instance owns a ProviderConfig: it names the provider, and no other instance of that name has its
 * finalizer on it.
 */
export const isOwnConfig = (instance: ProviderInstance, { spec, metadata }: ProviderConfig): boolean =>
  spec?.providerRef?.name === instance.provider &&
  !isHeldByOtherInstance(metadata.finalizers, instanceFinalizers(instance).providerConfig);

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

/** The view of a Cluster from the caches. */
export function buildClusterView(services: Services, cluster: Cluster): ClusterView {
  const ref = clusterIdentityOf(cluster);
  const config = findProviderConfig(services, cluster);
  const object = findSecretByName(services, ref);
  const machines = machinesOfCluster(services, ref);
  const { secrets, secretsProblem: problem } = toSecretsView(
    assessSecretsOfCluster(services, { object, cluster, machines }),
  );
  const { given, spec, managedBy, configMismatch } = resolveSpec(services, config, cluster, machines);
  const platform = (given && findPlatformSection(given)?.name) ?? machines[0]?.spec.platform;
  const chosen = services.platforms.find(({ name }) => name === platform);
  const fixed = spec && fixedEndpointOf(services.platforms, spec);
  const now = services.clock.now();
  return {
    cluster,
    ref,
    config,
    spec,
    managedBy,
    configMismatch,
    platform,
    followsSize: chosen?.hardware !== undefined,
    shortageReasons: shortageReasonsOf(chosen),
    addressing: spec && addressingOf(services.platforms, spec),
    fixedEndpoint: fixed,
    endpointHolder: object || problem || !fixed ? undefined : findOtherEndpointOwner(services, cluster),
    secrets,
    isRestoring: isBeingRestored(services, ref),
    secretsProblem: problem,
    noAddress: undefined,
    endpoint: undefined,
    machines,
    nodePools: nodePoolsOfCluster(services, ref),
    bootstrap: undefined,
    proof: undefined,
    trust: given && config ? decideTrustForView(services, ref, config, given, secrets, managedBy) : undefined,
    trustRollout: undefined,
    revision: config && revisionOf(services, config),
    release: services.release,
    now,
    restartAttempts: chosen?.repair?.restartAttempts,
    remediations: listRemediations(cluster, machines, now),
    siteProblems: findSiteProblems(services, ref, machines),
  };
}

interface ResolvedSpec extends Pick<ClusterView, 'spec' | 'managedBy' | 'configMismatch'> {
  /** Also if nothing of it is to be brought about. */
  readonly given: ProviderConfigSpec | undefined;
}

function resolveSpec(
  services: Services,
  config: ProviderConfig | undefined,
  cluster: Cluster,
  machines: readonly Machine[],
): ResolvedSpec {
  const desired = config && resolveDesiredSpec(services, config, cluster);
  const given = desired && 'spec' in desired ? desired.spec : undefined;
  const configMismatch = desired && 'refused' in desired ? desired.refused : undefined;
  const managedBy = findManager(services, given) ?? (machines.some(isExternalMachine) ? 'others' : undefined);
  return { given, spec: managedBy === undefined ? given : undefined, managedBy, configMismatch };
}

/** Who manages the nodes of the platform of a spec; undefined: the provider. */
function findManager(
  { platforms }: Pick<Services, 'platforms'>,
  spec: ProviderConfigSpec | undefined,
): string | undefined {
  const given = spec && findPlatformSection(spec);
  return given && platforms.find(({ name }) => name === given.name)?.managedBy(given.section);
}

/** Hash of a ProviderConfig as this release of the provider reads it; undefined if it is not valid. */
export function revisionOf({ release }: Pick<Services, 'release'>, config: ProviderConfig): string | undefined {
  const { success, data } = parseSpec(config);
  return success ? hashSpec(data, release) : undefined;
}

/** The trust decision with the current record, which may be newer than the view. */
export function updateDesiredTrust(
  services: Services,
  view: ClusterView,
  secrets: ClusterView['secrets'],
): ClusterView['trust'] {
  const { ref, config, spec } = view;
  return config && spec ? decideTrustForView(services, ref, config, spec, secrets) : undefined;
}

function decideTrustForView(
  services: Services,
  ref: ClusterIdentity,
  config: ProviderConfig,
  spec: ProviderConfigSpec,
  secrets: ClusterSecrets | undefined,
  managedBy?: string,
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
    managedBy,
  });
}

type SecretsInput = Pick<ClusterView, 'cluster' | 'machines'> & { readonly object: KubeSecret | undefined };

/** Compares a Secret with everything else that is known of its Cluster. */
export function assessSecretsOfCluster(
  services: Pick<Services, 'namespace'>,
  { object, cluster, machines }: SecretsInput,
): ClusterSecretsState {
  const place = `${services.namespace}/${clusterSecretsName(clusterIdentityOf(cluster))}`;
  return assessClusterSecrets({ object, secretRef: place, cluster, machines });
}

/** An unusable Secret does not count as missing: it is never replaced by new secrets. */
export const toSecretsView = (state: ClusterSecretsState): Pick<ClusterView, 'secrets' | 'secretsProblem'> => ({
  secrets: state.kind === 'usable' ? state.secrets : undefined,
  secretsProblem: state.kind === 'unusable' ? state.problem : undefined,
});

/** From the caches. `undefined` if the Cluster does not exist. */
export function findSecretsState(
  services: ProviderInstance & Pick<Services, 'stores'>,
  ref: ClusterIdentity,
): ClusterSecretsState | undefined {
  const cluster = findCluster(services.stores, ref);
  if (!cluster) return undefined;
  const object = findSecretByName(services, ref);
  return assessSecretsOfCluster(services, { object, cluster, machines: machinesOfCluster(services, ref) });
}

/** Does not check the owner: {@link assessSecretsOfCluster} does. */
const findSecretByName = (services: Pick<Services, 'stores' | 'namespace'>, ref: ClusterIdentity) =>
  services.stores.secrets.get({ namespace: services.namespace, name: clusterSecretsName(ref) });

/**
 * One of the Clusters with the same fixed endpoint gets it: a Cluster that has, or had, its secrets; otherwise the
 * oldest.
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
  const all = indexed.filter((one) => isOwnOfCluster(services, one, ref));
  return all.sort(compareMachines);
}

/** Control planes first, in the order of their slots. */
export const compareMachines = (a: Machine, b: Machine): number =>
  roleOrder(a) - roleOrder(b) || a.spec.pool.localeCompare(b.spec.pool) || a.spec.slot - b.spec.slot;

/** The NodePools of a Cluster. */
export const nodePoolsOfCluster = (
  services: ProviderInstance & Pick<Services, 'stores'>,
  ref: ClusterIdentity,
): NodePool[] =>
  services.stores.nodePools.by('cluster', clusterIdentityKey(ref)).filter((one) => isOwnOfCluster(services, one, ref));

const roleOrder = (machine: Machine): number => (machine.spec.role === 'controlplane' ? 0 : 1);

/** The prefix of node names that the Cluster asks for instead of its own name. */
export const readDesiredNodePrefix = ({ cluster }: Pick<ClusterView, 'cluster'>): string | undefined =>
  cluster.metadata.annotations?.[annotations.nodePrefix];
