import type { Fleet } from './fleet.ts';
import type { FleetLayout } from './fleet-layout.ts';

/** Numbers below `below`, one after the other, the same for each run with one seed. */
export type Draw = (below: number) => number;

/** One kind of thing that happens to a fleet. */
export interface ChaosEvent {
  readonly name: string;
  /** What it can happen to: names of clusters, templates or systems. Empty: it cannot happen in this fleet. */
  targets(layout: FleetLayout): readonly string[];
  /** The clusters that one on this target concerns. On one day no two events concern the same cluster. */
  clusters(target: string, layout: FleetLayout): readonly string[];
  /** Something that only one event of a day can use: the network, the dates of the provider, the whole platform. */
  readonly uses?: 'network' | 'dates' | 'everything';
  /** Lets it happen, with its end where it has one: power returns, a partition heals. `number`: drawn with the schedule. */
  strike(fleet: Fleet, target: string, number: number): Promise<void>;
  /** Its effect that must be visible before the fleet counts as settled. */
  isDone?(fleet: Fleet, target: string): Promise<boolean> | boolean;
}

/** Targets of an event that happens to one cluster. */
export const oneCluster = (
  suits: (cluster: FleetLayout['clusters'][number]) => boolean = () => true,
): Pick<ChaosEvent, 'targets' | 'clusters'> => ({
  targets: ({ clusters }) => clusters.filter(suits).map(({ name }) => name),
  clusters: (target) => [target],
});

/** Targets of an event that concerns no cluster in particular, and every one a little. */
export const noCluster: Pick<ChaosEvent, 'targets' | 'clusters'> = {
  targets: () => ['provider'],
  clusters: () => [],
};
