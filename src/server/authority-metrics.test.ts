import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createAuthorityGauges } from './authority-metrics.ts';

it('the first end of each authority of a ProviderConfig is known, and how many are rotated', async () => {
  const registry = new Registry();
  const setAuthorities = createAuthorityGauges(registry);
  expect(await registry.metrics()).not.toContain('{');
  setAuthorities(() => [
    { config: 'home', authority: 'talos', expiresAt: new Date(9000), isRotating: true },
    { config: 'home', authority: 'talos', expiresAt: new Date(5000), isRotating: false },
    { config: 'home', authority: 'etcd', expiresAt: new Date(7000), isRotating: false },
    { config: 'new', authority: 'talos', expiresAt: new Date(8000), isRotating: false },
  ]);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('cluster'));
  expect(
    lines.map((line) => line.replace(/.*authority_(\w+)\{provider_config="(\w+)",authority="(\w+)"\}/, '$1 $2 $3')),
  ).toEqual([
    ...['expiry_timestamp_seconds home talos 5', 'expiry_timestamp_seconds home etcd 7'],
    ...['expiry_timestamp_seconds new talos 8', 'rotating_clusters home talos 1'],
    ...['rotating_clusters home etcd 0', 'rotating_clusters new talos 0'],
  ]);
});
