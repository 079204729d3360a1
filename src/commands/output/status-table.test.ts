import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { buildOverview } from '../../status/views/fleet-overview.ts';
import { formatStatus } from './status-table.ts';

const fleet = new StatusFleet();

it('a fleet has a line for each Cluster, problems first, then rollouts and Hosts', () => {
  const rollout = { total: 9, updated: 4, updating: 1, failed: 0 };
  const config = fleet.config('home', undefined, { rollout });
  const backup = { lastSuccess: fleet.ago(7200), failures: 2 };
  const upToDate = fleet.condition('UpToDate', 'False', { reason: 'Updating', message: 'cp-1 restarts.' });
  const good = fleet.cluster('good', {
    conditions: [fleet.condition('Ready', 'True', { seconds: 86_400 * 3 }), upToDate],
    record: { backup },
  });
  const silent = { reason: 'WaitingForEndpoint', message: `It is silent.\n\u001b[2J${'x'.repeat(200)}`, seconds: 240 };
  const bad = fleet.cluster('bad', { conditions: [fleet.condition('Ready', 'False', silent)] });
  const pending = { revision: 'r', class: 'restart', fields: [] } as const;
  const machines = [fleet.machine(good, 0), fleet.machine(good, 1, { pending: { ...pending, fields: [] } })];
  const hosts = [fleet.host('a', 'Available'), fleet.host('b', 'Provisioned'), fleet.host('c', 'Failed')];
  const lines = formatStatus(buildOverview({ clusters: [good, bad], machines, configs: [config], hosts }), fleet.now);
  expect(lines.map((line) => line.replace(/ {2,}/g, '  '))).toEqual([
    'CLUSTER  HEALTH  MACHINES  KUBERNETES  TALOS  UP-TO-DATE  BACKUP  SINCE  WHY',
    expect.stringMatching(
      /^shop\/bad {2}unhealthy {2}0\/0 {2}1\.35\.4 {2}1\.13\.9 {2}- {2}- {2}4m {2}WaitingForEndpoint: It is silent\. \[2Jx+…$/,
    ),
    'shop/good  ready  2/2  1.35.4  1.13.9  no (1/2 wait)  2h (fails)  3d',
    '',
    'Rollout of ProviderConfig home: 4 of 9 machines updated, 1 being updated, 0 failed.',
    '',
    'Hosts: 3, of which 1 free, 1 in use, 1 failed.',
  ]);
  expect(lines[1]?.length).toBeLessThan(220);
});

it('an empty platform cluster', () => {
  const none = { clusters: [], machines: [], configs: [], hosts: [] };
  expect(formatStatus(buildOverview(none), fleet.now)).toEqual(['There are no Clusters.']);
});
