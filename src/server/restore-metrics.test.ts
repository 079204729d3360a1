import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createRestoreGauges } from './restore-metrics.ts';

it('D54: the restores of a ProviderConfig are counted by their state', async () => {
  const registry = new Registry();
  const setRestores = createRestoreGauges(registry);
  expect(await registry.metrics()).not.toContain('{');
  setRestores(() => [
    { config: 'home', state: 'running' },
    { config: 'home', state: 'running' },
    { config: 'home', state: 'failed' },
    { config: 'new', state: 'waiting' },
  ]);
  const lines = (await registry.metrics()).split('\n').filter((line) => /^cluster.* [1-9]/.test(line));
  expect(lines).toEqual([
    'cluster_provider_talos_restore_waiting_clusters{provider_config="new"} 1',
    'cluster_provider_talos_restore_running_clusters{provider_config="home"} 2',
    'cluster_provider_talos_restore_failed_clusters{provider_config="home"} 1',
  ]);
});
