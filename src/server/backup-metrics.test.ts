import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createBackupGauges } from './backup-metrics.ts';

it('D53: the last complete backup of each cluster has a time, a duration and a size', async () => {
  const registry = new Registry();
  const setBackups = createBackupGauges(registry);
  expect(await registry.metrics()).not.toContain('{');
  setBackups(() => [
    { namespace: 'shop', cluster: 'prod', lastSuccess: new Date(5000), bytes: 100, seconds: 2, failures: 0 },
    { namespace: 'shop', cluster: 'new', failures: 3 },
  ]);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('cluster'));
  expect(
    lines.map((line) => line.replace('cluster_provider_talos_backup_', '').replace('namespace="shop",', '')),
  ).toEqual([
    'last_success_timestamp_seconds{cluster="prod"} 5',
    'last_success_timestamp_seconds{cluster="new"} 0',
    'last_duration_seconds{cluster="prod"} 2',
    'last_size_bytes{cluster="prod"} 100',
    'consecutive_failures{cluster="prod"} 0',
    'consecutive_failures{cluster="new"} 3',
  ]);
});
