import semver from 'semver';
import type { Machine } from '../../api/machine.ts';
import {
  annotations,
  clusterId,
  controlPlanePool,
  finalizers,
  machineName,
  openmcp,
  profileName,
  secretsName,
} from '../../api/names.ts';
import type { Cluster, NamespacedRef } from '../../api/openmcp.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { type ProviderConfigSpec, platformOf } from '../../api/provider-config-spec.ts';
import type { Addressing } from '../../engine/platform.ts';
import type { Secret as KubeSecret } from '../../kube/core-types.ts';
import { ProviderError } from '../../lib/errors.ts';
import { type ClusterSecrets, readClusterSecrets } from '../cluster-secrets.ts';
import { type FixedEndpoint, fixedEndpoint } from '../fixed-endpoints.ts';
import type { Services } from '../services.ts';
import { addressingOf } from '../spec/platform.ts';
import { type Refusal, wishOf } from '../spec/wish.ts';
import type { TrustDecision } from '../trust/decide.ts';
import type { RollState } from '../trust/roll.ts';
import { decideFor } from '../trust/view.ts';

/** Where the API server of a cluster is reached. */
export interface Endpoint {
  /** Undefined while it is to be that of a control plane, and none has an address yet. */
  readonly url: string | undefined;
  /** Set when the control planes hold it themselves. */
  readonly virtualAddress: string | undefined;
}

/** One machine that a cluster is to have. */
export interface Slot {
  readonly name: string;
  readonly role: 'controlplane' | 'worker';
  readonly pool: string;
  readonly slot: number;
  readonly size: string;
  /** Where it is to be made, once that is chosen among several places. */
  readonly site?: string | undefined;
}

/** The proof that a cluster can be called ready, made in this very reconcile. */
export type Proof = { readonly ok: true; readonly version: string } | { readonly ok: false; readonly message: string };

/** Everything that {@link decide} looks at. Fields that are undefined are not known yet. */
export interface ClusterView {
  readonly cluster: Cluster;
  readonly ref: NamespacedRef;
  readonly config: ProviderConfig | undefined;
  /** What it is to be like, out of the config and its ClusterConfigs; undefined when that cannot be said. */
  readonly spec: ProviderConfigSpec | undefined;
  /** Why it cannot be like what its ClusterConfigs say. */
  readonly misfit: Refusal | undefined;
  readonly platform: string | undefined;
  /** What the platform does with addresses, by that spec. */
  readonly addressing: Addressing | undefined;
  /** The one place that all clusters of the config would be reached at, if it fixes one. */
  readonly fixedEndpoint: FixedEndpoint | undefined;
  /** The Cluster that has it, if that is another. */
  readonly endpointHolder: NamespacedRef | undefined;
  readonly secrets: ClusterSecrets | undefined;
  /** What is wrong with the Secret that should hold them. */
  readonly damage: string | undefined;
  /** Why no address could be had for the endpoint. */
  readonly noAddress: string | undefined;
  readonly endpoint: Endpoint | undefined;
  readonly machines: readonly Machine[];
  readonly bootstrap: { readonly done: boolean; readonly message: string } | undefined;
  readonly proof: Proof | undefined;
  /** Whom its API servers are to trust; undefined as long as that cannot be said. */
  readonly trust: TrustDecision | undefined;
  /** How far that has come, if it was looked at. */
  readonly roll: RollState | undefined;
}

export const refOf = (cluster: Cluster): NamespacedRef => ({
  namespace: cluster.metadata.namespace ?? '',
  name: cluster.metadata.name,
});

/**
 * Whether a Cluster is this provider's. By its profile as long as that exists; before it was published, by the
 * ProviderConfig that it will stand for, so that somebody says why nothing happens; one that we hold by our finalizer and
 * label stays ours when the profile was deleted by hand, so that it can still be taken down.
 */
export function isOurs(services: Pick<Services, 'stores' | 'provider' | 'environment'>, cluster: Cluster): boolean {
  const profile = services.stores.profiles.get({ name: cluster.spec.profile });
  if (profile) return profile.spec.providerRef.name === services.provider && configOf(services, cluster) !== undefined;
  if (configOf(services, cluster)) return true;
  const held = cluster.metadata.finalizers?.includes(finalizers.cluster) ?? false;
  return held && cluster.metadata.labels?.[openmcp.provider] === services.provider;
}

/** The ProviderConfig behind the profile of a Cluster. */
export function configOf(
  services: Pick<Services, 'stores' | 'provider' | 'environment'>,
  cluster: Cluster,
): ProviderConfig | undefined {
  const { environment, provider, stores } = services;
  return stores.providerConfigs
    .list()
    .find(
      (config) =>
        config.spec?.providerRef?.name === provider &&
        profileName(environment, provider, config.metadata.name) === cluster.spec.profile,
    );
}

/** What the stores know of a Cluster right now. */
export function look(services: Services, cluster: Cluster): ClusterView {
  const ref = refOf(cluster);
  const config = configOf(services, cluster);
  const wish = config && wishOf(services, config, cluster);
  const spec = wish && 'spec' in wish ? wish.spec : undefined;
  const object = secretsOf(services, ref);
  const { secrets, damage } = tryRead(object);
  const machines = machinesOf(services, ref);
  const fixed = spec && fixedEndpoint(services.platforms, spec);
  return {
    cluster,
    ref,
    config,
    spec,
    misfit: wish && 'refused' in wish ? wish.refused : undefined,
    platform: (spec && platformOf(spec)?.name) ?? machines[0]?.spec.platform,
    addressing: spec && addressingOf(services.platforms, spec),
    fixedEndpoint: fixed,
    endpointHolder: object || !fixed ? undefined : otherHolder(services, cluster),
    secrets,
    damage,
    noAddress: undefined,
    endpoint: undefined,
    machines,
    bootstrap: undefined,
    proof: undefined,
    trust: spec && config ? trustOf(services, ref, config, spec, secrets) : undefined,
    roll: undefined,
  };
}

/** Whom the API servers of a Cluster are to trust. */
function trustOf(
  services: Services,
  ref: NamespacedRef,
  config: ProviderConfig,
  spec: ProviderConfigSpec,
  secrets: ClusterSecrets | undefined,
): TrustDecision {
  const machines = machinesOf(services, ref);
  const endpoint = machines[0]?.spec.endpoint ?? secrets?.endpoint;
  return decideFor(services, { ref, config: config.metadata.name, spec, record: secrets?.trust, machines, endpoint });
}

/** A damaged Secret is not a missing one: nothing is ever made in its place. */
function tryRead(object: KubeSecret | undefined): Pick<ClusterView, 'secrets' | 'damage'> {
  try {
    return { secrets: object && readClusterSecrets(object), damage: undefined };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { secrets: undefined, damage: error.message };
  }
}

const secretsOf = (services: Services, ref: NamespacedRef) =>
  services.stores.secrets.get({ namespace: services.namespace, name: secretsName(ref) });

/** Of the Clusters that want the same endpoint one gets it: that which has its secrets already, else the oldest. */
function otherHolder(services: Services, cluster: Cluster): NamespacedRef | undefined {
  const rank = (one: Cluster): string =>
    `${secretsOf(services, refOf(one)) ? 0 : 1} ${one.metadata.creationTimestamp} ${one.metadata.uid}`;
  const [first] = [...services.stores.clusters.by('profile', cluster.spec.profile)].sort((a, b) =>
    rank(a) < rank(b) ? -1 : 1,
  );
  return first && first.metadata.uid !== cluster.metadata.uid ? refOf(first) : undefined;
}

/** The Machines of a Cluster, control planes first, in the order of their slots. */
export function machinesOf(services: Pick<Services, 'stores'>, ref: NamespacedRef): Machine[] {
  const all = [...services.stores.machines.by('cluster', clusterId(ref))];
  return all.sort(
    (a, b) => poolOrder(a) - poolOrder(b) || a.spec.pool.localeCompare(b.spec.pool) || a.spec.slot - b.spec.slot,
  );
}

const poolOrder = (machine: Machine): number => (machine.spec.role === 'controlplane' ? 0 : 1);

/** What the Cluster wants the names of its nodes to begin with, if not with its own name. */
export const wishedPrefix = ({ cluster }: Pick<ClusterView, 'cluster'>): string | undefined =>
  cluster.metadata.annotations?.[annotations.nodePrefix];

/** The machines that a spec asks for; none when there is no spec. */
export function slotsOf({
  ref,
  spec,
  secrets,
}: Pick<ClusterView, 'ref' | 'spec'> & {
  readonly secrets: Pick<ClusterSecrets, 'nodePrefix'> | undefined;
}): Slot[] {
  if (!spec) return [];
  const numbered = (count: number, role: Slot['role'], pool: string, size: string): Slot[] =>
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

/** The newest offered version that is not deprecated: what a Cluster gets that does not ask for one. */
export function newestOffered(spec: ProviderConfigSpec): string | undefined {
  const current = spec.kubernetes.versions.filter((offered) => !offered.deprecated).map((offered) => offered.version);
  return current.sort(semver.rcompare)[0];
}

/** Facts of a Machine's steps, by name. */
export const factOf = (machine: Machine, name: string): string | undefined => {
  const value = machine.status?.progress?.facts[name];
  return value === undefined ? undefined : String(value);
};

export const clusterOf = (machine: Machine): NamespacedRef => ({
  namespace: machine.spec.clusterRef.namespace,
  name: machine.spec.clusterRef.name,
});
