import { expect, it } from 'vitest';
import { sampleFleet } from '../../../test/support/fixtures/sample-fleet.ts';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { buildClusterPage, clustersPerPage } from './cluster-rows.ts';
import { buildFleetJson } from './fleet-view.ts';

const fleet = sampleFleet();
const list = (filter: Partial<Parameters<typeof buildClusterPage>[1]>) =>
  buildClusterPage(fleet.sources(), { text: '', health: undefined, page: 1, ...filter });

it.each([
  [{ text: 'check' }, ['checkout']],
  [{ text: 'DATA/' }, ['reports', 'trial']],
  [{ text: 'lab' }, ['trial', 'archive', 'identity', 'orders']],
  [{ health: 'unhealthy' as const }, ['warehouse']],
  [{ health: 'ready' as const, text: 'data' }, []],
])('%j finds %j', (filter, names) => {
  expect(list(filter).clusters.map(({ name }) => name)).toEqual(names);
});

it('a page beyond the last one is the last one', () => {
  expect(list({ page: 99 })).toMatchObject({ page: 1, pages: 1, total: 14 });
});

it('a thousand clusters are pages of a bounded size, and the fleet is no larger than with ten', () => {
  const sizesOf = (count: number) => {
    const large = new StatusFleet();
    large.config('home');
    const conditions = [large.condition('Ready', 'False', { reason: 'WaitingForEndpoint', message: 'x'.repeat(5000) })];
    for (let i = 0; i < count; i += 1) {
      const cluster = large.cluster(`cluster-${i}`, { conditions });
      for (const slot of [0, 1, 2]) large.machine(cluster, slot);
    }
    const page = buildClusterPage(large.sources(), { text: '', health: undefined, page: 1 });
    return {
      page,
      pageBytes: JSON.stringify(page).length,
      fleetBytes: JSON.stringify(buildFleetJson(large.sources())).length,
    };
  };
  const [few, many] = [sizesOf(50), sizesOf(1000)];
  expect(many.page).toMatchObject({ total: 1000, pages: 1000 / clustersPerPage });
  expect(many.page.clusters).toHaveLength(clustersPerPage);
  // Longer names and numbers only.
  expect(many.pageBytes / few.pageBytes).toBeLessThan(1.02);
  expect(many.fleetBytes / few.fleetBytes).toBeLessThan(1.02);
  expect(many.pageBytes).toBeLessThan(64 * 1024);
});
