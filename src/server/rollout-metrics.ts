import { Gauge, type Registry } from 'prom-client';
import { oncePerScrape } from './once-per-scrape.ts';

/** The rollout of one ProviderConfig, at the time of a scrape. */
export interface RolloutMetric {
  readonly config: string;
  readonly total: number;
  readonly updated: number;
  readonly updating: number;
  readonly failed: number;
  readonly isPaused: boolean;
  readonly outdatedSince: Date | undefined;
}

const states = ['up-to-date', 'waiting', 'updating', 'paused', 'failed'] as const;
type RolloutState = (typeof states)[number];

const stateOf = ({ total, updated, updating, failed, isPaused }: RolloutMetric): RolloutState => {
  if (failed > 0) return 'failed';
  if (updating > 0) return 'updating';
  if (updated >= total) return 'up-to-date';
  return isPaused ? 'paused' : 'waiting';
};

/** Nothing is exported before the first call of the result, nor while this process does not lead. */
export function createRolloutGauges(
  registry: Registry,
): (list: () => readonly RolloutMetric[], now: () => Date) => void {
  let list: () => readonly RolloutMetric[] = () => [];
  let now = (): Date => new Date(0);
  const registers = [registry];
  new Gauge({
    name: 'cluster_provider_talos_rollout_machines',
    help: 'Running machines, by ProviderConfig and whether they have its current state: up-to-date, waiting, updating or failed.',
    labelNames: ['provider_config', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { config: provider_config, total, updated, updating, failed } of list()) {
        this.set({ provider_config, state: 'up-to-date' }, updated);
        this.set({ provider_config, state: 'updating' }, updating);
        this.set({ provider_config, state: 'failed' }, failed);
        this.set({ provider_config, state: 'waiting' }, Math.max(0, total - updated - updating - failed));
      }
    },
  });
  new Gauge({
    name: 'cluster_provider_talos_rollout_state',
    help: '1 for the state of the rollout of a ProviderConfig: up-to-date, waiting, updating, paused or failed.',
    labelNames: ['provider_config', 'state'],
    registers,
    collect() {
      this.reset();
      for (const rollout of list())
        for (const state of states)
          this.set({ provider_config: rollout.config, state }, state === stateOf(rollout) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'cluster_provider_talos_rollout_oldest_change_seconds',
    help: 'Age of the oldest change that a running machine of a ProviderConfig does not have yet; 0 without one.',
    labelNames: ['provider_config'],
    registers,
    collect() {
      this.reset();
      for (const { config, outdatedSince } of list()) {
        const age = outdatedSince ? (now().getTime() - outdatedSince.getTime()) / 1000 : 0;
        this.set({ provider_config: config }, Math.max(0, age));
      }
    },
  });
  return (listRollouts, clock) => {
    list = oncePerScrape(listRollouts);
    now = clock;
  };
}
