import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';

export const nasNames = ['east', 'west', 'south'] as const;
export type NasName = (typeof nasNames)[number];
/** A template: on one NAS, on all three, or on bare servers. */
export const configNames = ['east', 'west', 'spread', 'metal'] as const;
export type ConfigName = (typeof configNames)[number];

export interface PlannedCluster {
  readonly name: string;
  readonly config: ConfigName;
  readonly controlPlanes: 1 | 3;
  /** To begin with. */
  readonly workers: number;
}

/** What a fleet consists of. Plain data: with the seed, the schedule follows from it. */
export interface FleetLayout {
  readonly clusters: readonly PlannedCluster[];
  /** Servers beside those of the clusters. */
  readonly spareServers: number;
}

export const refOf = ({ name }: Pick<PlannedCluster, 'name'>): NamespacedRef => ({ namespace: 'fleet', name });

const series = (count: number, name: string, config: ConfigName, controlPlanes: 1 | 3): PlannedCluster[] =>
  Array.from({ length: count }, (_, i) => ({ name: `${name}-${i + 1}`, config, controlPlanes, workers: 1 }));

/** Small enough for every run of the tests, with each kind of cluster. */
export const hourLayout: FleetLayout = {
  clusters: [...series(1, 'east', 'east', 1), ...series(1, 'trio', 'spread', 3), ...series(1, 'bare', 'metal', 1)],
  spareServers: 1,
};

/** Twenty clusters. */
export const yearLayout: FleetLayout = {
  clusters: [
    ...series(4, 'east', 'east', 1),
    ...series(3, 'west', 'west', 1),
    ...series(7, 'trio', 'spread', 3),
    ...series(6, 'bare', 'metal', 1),
  ],
  spareServers: 4,
};

/** The NAS that hold machines of a template. */
export const nasOf = (config: ConfigName): readonly NasName[] =>
  config === 'spread' ? nasNames : config === 'metal' ? [] : [config];

export const serverNumbersOf = ({ clusters, spareServers }: FleetLayout): number[] => {
  const used = clusters.filter(({ config }) => config === 'metal');
  const machines = used.reduce((sum, { controlPlanes, workers }) => sum + controlPlanes + workers, 0);
  return Array.from({ length: machines + spareServers }, (_, i) => 3140001 + i);
};
