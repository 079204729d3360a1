import type { Machine } from '../../api/machine.ts';
import type { ProviderInstance } from '../../api/names.ts';
import { clusterProfileName } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { isOwnCluster } from '../../controllers/cluster/cluster-responsibility.ts';
import { isOwnMachine } from '../../controllers/cluster/identity.ts';
import { isOwnConfig } from '../../controllers/cluster/view.ts';
import type { Stores } from '../../controllers/shared/services.ts';
import type { Platform } from '../../engine/platform.ts';
import type { SystemJson } from '../api-types.ts';
import type { StepHistory } from '../step-history.ts';

type ReadOnly<S extends { list(): unknown; get(...all: never[]): unknown; by(...all: never[]): unknown }> = Pick<
  S,
  'by' | 'get' | 'list'
>;

/** The caches that views may read. Secrets are not among them, so no view can show one. */
export type StatusStores = {
  readonly [K in 'accessRequests' | 'clusters' | 'hosts' | 'machines' | 'profiles' | 'providerConfigs']: ReadOnly<
    Stores[K]
  >;
};

/** What has to be asked for, and is not in the caches. */
export interface Measurements {
  /** The addresses that are claimed; undefined: not read yet. */
  readonly heldAddresses: ReadonlySet<string> | undefined;
  readonly systems: readonly SystemJson[];
}

/** The state of the fleet. */
export interface FleetSources extends ProviderInstance {
  readonly stores: StatusStores;
  readonly platforms: readonly Platform[];
  readonly measurements: Measurements;
}

/** Everything that a view is built from. */
export interface StatusSources extends FleetSources {
  readonly history: Pick<StepHistory, 'of' | 'usualSeconds'>;
  readonly isLeader: boolean;
  /** Whether every cache is filled. */
  readonly isComplete: boolean;
}

export const ownMachines = (sources: FleetSources): readonly Machine[] =>
  sources.stores.machines.list().filter(({ spec }) => isOwnMachine(sources, spec));

export const ownConfigs = (sources: FleetSources): ProviderConfig[] =>
  sources.stores.providerConfigs.list().filter((config) => isOwnConfig(sources, config));

/** The ProviderConfigs by the name of their profile. */
export const configsByProfile = (sources: FleetSources): ReadonlyMap<string, ProviderConfig> =>
  new Map(
    ownConfigs(sources).map((config) => [
      clusterProfileName(sources.environment, sources.provider, config.metadata.name),
      config,
    ]),
  );

/** The objects of this provider, found once for a whole view. */
export interface FleetObjects {
  readonly clusters: readonly Cluster[];
  readonly machines: readonly Machine[];
  readonly configs: readonly ProviderConfig[];
  /** The ProviderConfigs by the name of their profile. */
  readonly byProfile: ReadonlyMap<string, ProviderConfig>;
}

export const findFleetObjects = (sources: FleetSources): FleetObjects => ({
  clusters: sources.stores.clusters.list().filter((cluster) => isOwnCluster(sources, cluster)),
  machines: ownMachines(sources),
  configs: ownConfigs(sources),
  byProfile: configsByProfile(sources),
});

/** A text of at most this length. Conditions and Events quote what other systems answer. */
export const shorten = (text: string, max = 600): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);
