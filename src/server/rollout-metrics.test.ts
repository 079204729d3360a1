import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createRolloutGauges, type RolloutMetric } from './rollout-metrics.ts';

const rollout = (change: Partial<RolloutMetric> = {}): RolloutMetric => ({
  ...{ config: 'home', total: 5, updated: 5, updating: 0, failed: 0, isPaused: false, outdatedSince: undefined },
  ...change,
});
async function scrape(...rollouts: RolloutMetric[]): Promise<string[]> {
  const registry = new Registry();
  createRolloutGauges(registry)(
    () => rollouts,
    () => new Date('2026-11-25T12:00:00Z'),
  );
  const text = await registry.metrics();
  const lines = text.split('\n').filter((line) => line.startsWith('cluster') && !line.endsWith(' 0'));
  return lines.map((line) => line.replace('cluster_provider_talos_rollout_', '').replace('provider_config=', ''));
}

it('shows the machines of a ProviderConfig by their state, and the age of the oldest change', async () => {
  const outdatedSince = new Date('2026-11-25T11:00:00Z');
  expect(await scrape(rollout({ updated: 1, updating: 1, outdatedSince }))).toEqual([
    'machines{"home",state="up-to-date"} 1',
    'machines{"home",state="updating"} 1',
    'machines{"home",state="waiting"} 3',
    'state{"home",state="updating"} 1',
    'oldest_change_seconds{"home"} 3600',
  ]);
});

it.each<[string, Partial<RolloutMetric>]>([
  ['up-to-date', {}],
  ['up-to-date', { total: 0, updated: 0 }],
  ['up-to-date', { isPaused: true }],
  ['waiting', { updated: 4 }],
  ['paused', { updated: 4, isPaused: true }],
  ['updating', { updated: 3, updating: 1 }],
  ['failed', { updated: 3, updating: 1, failed: 1 }],
])('the state is %s', async (state, change) => {
  expect(await scrape(rollout(change))).toContain(`state{"home",state="${state}"} 1`);
});
