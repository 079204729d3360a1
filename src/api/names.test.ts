import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  instanceFinalizers,
  isHeldByOtherInstance,
  isProviderFinalizer,
  leaseName,
  type ProviderInstance,
} from './names.ts';

const instance: ProviderInstance = { environment: 'dev', provider: 'talos', namespace: 'openmcp-system' };
const others: readonly ProviderInstance[] = [
  { ...instance, environment: 'prod' },
  { ...instance, provider: 'other' },
  { ...instance, namespace: 'elsewhere' },
];
const part = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$/);

it('instances have separate Leases, whatever their names concatenate to', async () => {
  expect(leaseName('dev', 'eu-talos')).not.toBe(leaseName('dev-eu', 'talos'));
  await fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      expect(leaseName(a, b)).toMatch(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])$/);
      expect(leaseName(a, b) === leaseName(c, d)).toBe(a === c && b === d);
    }),
  );
});

it.each(['providerConfig', 'cluster', 'accessRequest'] as const)('recognizes its own finalizer of a %s', (kind) => {
  const own = instanceFinalizers(instance)[kind];
  const theirs = others.map((other) => instanceFinalizers(other)[kind]);
  expect(new Set([own, ...theirs]).size).toBe(4);
  // The API server allows up to 63 characters after the slash.
  expect(own.split('/')[1]?.length).toBeLessThanOrEqual(63);
  for (const name of [own, ...theirs]) expect(isProviderFinalizer(name)).toBe(true);
  for (const name of theirs) {
    expect(isHeldByOtherInstance([name], own)).toBe(true);
    expect(isHeldByOtherInstance([name, own], own)).toBe(false);
  }
  const foreign = ['clusters.openmcp.cloud/finalizer', 'example.org/cluster-abcdefgh'];
  for (const held of [undefined, [], [own], foreign]) expect(isHeldByOtherInstance(held, own)).toBe(false);
  for (const name of foreign) expect(isProviderFinalizer(name)).toBe(false);
});
