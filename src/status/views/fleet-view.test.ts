import { expect, it } from 'vitest';
import { sampleFleet } from '../../../test/support/fixtures/sample-fleet.ts';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { buildFleetJson } from './fleet-view.ts';

const now = new Date('2026-11-21T09:00:00Z');

it('counts clusters by health, machines and hosts', () => {
  const view = buildFleetJson(sampleFleet(now).sources());
  expect(view.clusters).toEqual({
    total: 14,
    byHealth: { ready: 10, attention: 1, creating: 1, unhealthy: 1, deleting: 1 },
  });
  expect(view.machines).toEqual({ total: 41, ready: 34 });
  expect(view.hosts).toEqual({ total: 5, free: 2, inUse: 2, failed: 1 });
});

it('lists problems, the worst first, each with its reason', () => {
  const { problems } = buildFleetJson(sampleFleet(now).sources());
  expect(problems.first.map(({ name, cause }) => [name, cause?.reason])).toEqual([
    ['warehouse', 'ClusterUnreachable'],
    ['reports', 'BackupFailed'],
    ['checkout', 'InsufficientMemory'],
  ]);
});

it('a fleet with many problems shows the first ones and counts all', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  const conditions = [fleet.condition('Ready', 'False', { reason: 'WaitingForEndpoint' })];
  for (let i = 0; i < 90; i += 1) fleet.cluster(`c${i}`, { conditions });
  const { problems } = buildFleetJson(fleet.sources());
  expect([problems.total, problems.first.length]).toEqual([90, 20]);
});

it('the oldest backup is that of the cluster whose last complete one is the oldest', () => {
  const fleet = sampleFleet(now);
  const { backups } = buildFleetJson(fleet.sources());
  expect(backups).toMatchObject({
    failing: 1,
    oldest: { name: 'reports', since: fleet.ago(86_400 * 3.3), isMissing: false },
  });
});

it('a cluster that never had a backup counts from its creation', () => {
  const fleet = sampleFleet(now);
  const created = fleet.ago(86_400 * 9);
  fleet.cluster('forgotten', { metadata: { creationTimestamp: created } });
  expect(buildFleetJson(fleet.sources()).backups.oldest).toMatchObject({
    name: 'forgotten',
    since: created,
    isMissing: true,
  });
});

it('clusters whose ProviderConfig has no backups are not counted', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  fleet.cluster('a');
  expect(buildFleetJson(fleet.sources()).backups).toEqual({ scheduled: 0, failing: 0 });
});

it('a rollout is listed until every machine has followed', () => {
  const fleet = new StatusFleet();
  const rollout = { revision: 'r', total: 3, updated: 2, updating: 1, failed: 0 };
  fleet.config('home', undefined, { rollout });
  expect(buildFleetJson(fleet.sources()).rollouts.configs).toMatchObject([
    { config: 'home', updated: 2, isPaused: false },
  ]);
  fleet.config('home', undefined, { rollout: { ...rollout, updated: 3, updating: 0 } });
  expect(buildFleetJson(fleet.sources()).rollouts.configs).toEqual([]);
});

it('addresses are free unless they are claimed or a fixed endpoint; equal pools are one', () => {
  const fleet = new StatusFleet();
  fleet.config('one');
  fleet.config('two');
  fleet.config('three', (raw) => {
    (raw['network'] as Record<string, unknown>)['addressPool'] = ['192.168.10.40-192.168.10.41'];
    (raw['controlPlane'] as Record<string, unknown>)['endpoint'] = '192.168.10.41';
  });
  const pools = () =>
    buildFleetJson(fleet.sources()).addressPools.map(({ configs, total, free }) => [configs, total, free]);
  expect(pools()).toEqual([
    [['one', 'two'], 21, undefined],
    [['three'], 2, undefined],
  ]);
  fleet.measurements = { heldAddresses: new Set(['192.168.10.20', '192.168.10.21', '10.0.0.1']), systems: [] };
  expect(pools()).toEqual([
    [['three'], 2, 1],
    [['one', 'two'], 21, 19],
  ]);
});

it('ignores clusters of other providers', () => {
  const fleet = new StatusFleet();
  fleet.config('home');
  fleet.cluster('ours');
  fleet.cluster('theirs', { config: 'other' });
  expect(buildFleetJson(fleet.sources()).clusters.total).toBe(1);
});
