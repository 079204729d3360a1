import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { sampleFleet } from '../../../test/support/fixtures/sample-fleet.ts';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { createFleetGauges } from '../../server/fleet-metrics.ts';
import { listFleetSamples } from './fleet-samples.ts';

const now = new Date('2026-11-21T09:00:00Z');

/** The lines of a scrape, without the common prefix. */
async function scrape(fleet: StatusFleet, tokenExpiries: readonly Date[] = []): Promise<string[]> {
  const registry = new Registry();
  createFleetGauges(registry)(() => listFleetSamples(fleet.sources(), { now, tokenExpiries }));
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('cluster'));
  return lines.map((line) => line.replace('cluster_provider_talos_', ''));
}
const linesOf = (lines: readonly string[], metric: string) =>
  lines.filter((line) => line.startsWith(`${metric}{`)).map((line) => line.slice(metric.length));

it('counts clusters by health as the status page does, and says for how long', async () => {
  const lines = await scrape(sampleFleet(now));
  expect(linesOf(lines, 'cluster_health')).toEqual([
    '{provider_config="home",health="ready"} 7',
    '{provider_config="lab",health="ready"} 3',
    '{provider_config="home",health="creating"} 1',
    '{provider_config="home",health="unhealthy"} 1',
    '{provider_config="home",health="attention"} 1',
    '{provider_config="lab",health="deleting"} 1',
  ]);
  expect(linesOf(lines, 'cluster_health_longest_seconds').join()).not.toContain('"ready"');
});

it('a cluster in creation counts since it was created, another one since its condition changed', async () => {
  const fleet = new StatusFleet(now);
  fleet.config('home');
  const conditions = [fleet.condition('Ready', 'False', { reason: 'WaitingForEndpoint', seconds: 60 })];
  fleet.cluster('new', { conditions, isReachable: false, metadata: { creationTimestamp: fleet.ago(900) } });
  fleet.cluster('lost', { conditions });
  expect(linesOf(await scrape(fleet), 'cluster_health_longest_seconds')).toEqual([
    '{provider_config="home",health="creating"} 900',
    '{provider_config="home",health="unhealthy"} 60',
  ]);
});

it('shows the machine that is in a step for longest, and how many are stuck', async () => {
  const fleet = new StatusFleet(now);
  fleet.config('home');
  const cluster = fleet.cluster('shop');
  fleet.walk(cluster, 0, [['powered-on', 30]], { phase: 'Provisioning' });
  fleet.walk(cluster, 1, [['powered-on', 90]], { phase: 'Failed' });
  fleet.machine(cluster, 2);
  const lines = await scrape(fleet);
  expect(linesOf(lines, 'step_longest_seconds')).toEqual([
    '{platform="truenas",plan="provision",step="powered-on"} 90',
  ]);
  expect(linesOf(lines, 'machines_stuck')).toEqual(['{provider_config="home"} 1']);
  expect(linesOf(lines, 'machines')).toHaveLength(3);
});

it('what others write into a status does not become a label', async () => {
  const fleet = new StatusFleet(now);
  fleet.config('home');
  const strange = [
    fleet.condition('Ready', 'False', { reason: 'x'.repeat(900) }),
    fleet.condition('Invented', 'True'),
    fleet.condition('UpToDate', 'Perhaps' as never),
    fleet.condition('BackedUp', 'False', { reason: 'BackupFailed' }),
  ];
  const cluster = fleet.cluster('shop', { conditions: strange });
  fleet.walk(cluster, 0, [['Strange step!', 5]], { phase: 'Unheard' });
  const lines = await scrape(fleet);
  expect(linesOf(lines, 'conditions').filter((line) => line.includes('kind="Cluster"'))).toEqual([
    '{kind="Cluster",type="Ready",status="False",reason="other"} 1',
    '{kind="Cluster",type="BackedUp",status="False",reason="BackupFailed"} 1',
  ]);
  expect(linesOf(lines, 'step_longest_seconds')).toEqual([]);
  expect(linesOf(lines, 'machines')).toEqual(['{provider_config="home",role="controlplane",phase="Pending"} 1']);
});

it('shows addresses, hosts, and the space and memory of systems', async () => {
  const lines = await scrape(sampleFleet(now));
  expect(linesOf(lines, 'hosts')).toEqual([
    '{platform="hetznerRobot",state="Available"} 2',
    '{platform="hetznerRobot",state="Provisioned"} 2',
    '{platform="hetznerRobot",state="Failed"} 1',
  ]);
  expect(linesOf(lines, 'system_volume_healthy')).toContain('{system="nas-1.example.org",volume="fast"} 0');
  expect(linesOf(lines, 'system_volume_available_bytes')).toContain(
    `{system="nas-1.example.org",volume="tank"} ${1930 * 2 ** 30}`,
  );
  const { length } = linesOf(lines, 'addresses');
  expect(length).toBeGreaterThan(0);
  expect(linesOf(lines, 'addresses_free')).toHaveLength(length);
});

it('addresses are not called free before the claims were read', async () => {
  const fleet = new StatusFleet(now);
  fleet.config('home');
  const lines = await scrape(fleet);
  expect(linesOf(lines, 'addresses')).toHaveLength(1);
  expect(linesOf(lines, 'addresses_free')).toEqual([]);
});

it('shows the token that ends first, and nothing without tokens', async () => {
  const metric = 'access_token_earliest_expiry_timestamp_seconds';
  const times = [new Date('2026-12-03T00:00:00Z'), new Date('2026-12-01T00:00:00Z')];
  expect(await scrape(new StatusFleet(now), times)).toContain(`${metric} ${Date.parse('2026-12-01') / 1000}`);
  expect((await scrape(new StatusFleet(now))).join()).not.toContain(metric);
});

it('no name of a cluster or a machine is a label', async () => {
  const text = (await scrape(sampleFleet(now))).join('\n');
  for (const name of ['warehouse', 'reports', 'checkout', 'billing']) expect(text).not.toContain(name);
});
