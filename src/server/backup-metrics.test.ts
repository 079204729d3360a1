import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createBackupGauges } from './backup-metrics.ts';

it('D53: the age of the oldest backup of a ProviderConfig is known, and how many clusters fail', async () => {
  const registry = new Registry();
  const setBackups = createBackupGauges(registry);
  expect(await registry.metrics()).not.toContain('{');
  setBackups(() => [
    { config: 'home', since: new Date(9000), bytes: 100, seconds: 2, failures: 0 },
    { config: 'home', since: new Date(5000), bytes: 50, seconds: 7, failures: 3 },
    { config: 'new', since: new Date(8000), failures: 0 },
  ]);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('cluster'));
  expect(
    lines.map((line) => line.replace('cluster_provider_talos_backup_', '').replace('provider_config=', '')),
  ).toEqual([
    ...['oldest_timestamp_seconds{"home"} 5', 'oldest_timestamp_seconds{"new"} 8'],
    ...['failing_clusters{"home"} 1', 'failing_clusters{"new"} 0'],
    ...['clusters{"home"} 2', 'clusters{"new"} 1'],
    ...['size_bytes{"home"} 150', 'size_bytes{"new"} 0'],
    ...['longest_duration_seconds{"home"} 7', 'longest_duration_seconds{"new"} 0'],
  ]);
});
