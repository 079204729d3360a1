import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createBackupGauges } from './backup-metrics.ts';

it('the caches are read once for each scrape, whatever the number of gauges', async () => {
  const registry = new Registry();
  let reads = 0;
  createBackupGauges(registry)(() => {
    reads += 1;
    return [];
  });
  await registry.metrics();
  await registry.metrics();
  expect(reads).toBe(2);
});
