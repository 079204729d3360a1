import { expect, it } from 'vitest';
import { StatusFleet } from '../../../test/support/fixtures/status-fleet.ts';
import { buildOverview, findConfig } from './fleet-overview.ts';

const fleet = new StatusFleet();
const home = fleet.config('home');
const lists = { machines: [], configs: [home], hosts: [] };
const names = (...[given]: Parameters<typeof buildOverview>) => buildOverview(given).clusters.map(({ name }) => name);

it('Clusters of other providers are left out', () => {
  const [own, foreign] = [fleet.cluster('own'), fleet.cluster('foreign', { config: 'kind' })];
  expect(names({ ...lists, clusters: [own, foreign] })).toEqual(['own']);
});

it('a Cluster whose ProviderConfig is gone stays, as long as it has a Machine or our finalizer', () => {
  const finalizers = ['talos.clusters.openmcp.cloud/cluster-abcdefgh'];
  const held = fleet.cluster('held', { config: 'gone', metadata: { finalizers } });
  const running = fleet.cluster('running', { config: 'gone' });
  const machines = [fleet.machine(running, 0)];
  expect(names({ ...lists, machines, clusters: [held, running] })).toEqual(['held', 'running']);
});

it('a Cluster counts its own Machines only, not those of an earlier one of its name', () => {
  const cluster = fleet.cluster('a');
  const earlier = fleet.machine(fleet.cluster('a', { metadata: { uid: 'earlier' } }), 1);
  const { clusters } = buildOverview({ ...lists, machines: [fleet.machine(cluster, 0), earlier], clusters: [cluster] });
  expect(clusters[0]).toMatchObject({ machines: 1, readyMachines: 1 });
});

it.each([
  ['dev.talos.home', 'home'],
  ['eu.west.talos.big.home', 'big.home'],
  ['dev.other.home', undefined],
  ['home', undefined],
])('the profile %s belongs to %s', (profile, name) => {
  const big = fleet.config('big.home');
  expect(findConfig([home, big], profile)?.metadata.name).toBe(name);
});

it.each([
  ['its deletion', { metadata: { deletionTimestamp: '2026-11-21T08:00:00Z' } }, '2026-11-21T08:00:00Z'],
  ['its readiness', { conditions: [fleet.condition('Ready', 'True', { seconds: 60 })] }, fleet.ago(60)],
  ['its creation', { conditions: [] }, fleet.ago(86_400 * 40)],
])('a Cluster has its health since %s', (_, change, since) => {
  expect(buildOverview({ ...lists, clusters: [fleet.cluster('a', change)] }).clusters[0]?.since).toBe(since);
});
