import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { openmcpKeys } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { updateFacts } from '../../../src/talos/update/update-context.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { ConfigMap, withGrantedClient } from '../support/access/workload-cluster.ts';
import { isProviderCall } from '../support/observation/provider-calls.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

const speed = 40;
const day = 24;
const inShop = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const main = inShop('main');
const asked = ['main', 'other', 'third'].map(inShop);
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

const wallClock = new WallClock();
const open = startReplicaTestbed({ subnet: '127.42.38', speed }, async (testbed) => [
  await InProcessReplica.open(testbed, { name: 'talos-0', address: '127.42.38.201', leaseSeconds: 9, wallClock }),
]);

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
  },
);

const isSilent = async (ref: NamespacedRef): Promise<boolean> =>
  findFalseCondition((await open().testbed.objects.getCluster(ref)).status?.conditions, 'EndpointReachable') !==
  undefined;

/** The number of token requests since then. */
const tokensSince = (start: number): number =>
  open()
    .testbed.calls.slice(start)
    .filter((call) => isProviderCall(call) && /\/token$/.test(call.name)).length;

/** Requests a reconcile of the Cluster, which is idle otherwise, with a probe of its API server. */
async function nudge(): Promise<void> {
  const metadata = { annotations: { [openmcpKeys.operation]: 'reconcile' } };
  await open().testbed.platform.merge(Cluster, main, { metadata });
}

/** Waits until the provider has probed the cluster once more. */
async function looksAgain(): Promise<void> {
  const start = open().testbed.calls.length;
  await nudge();
  const isLook = /^GET \/api\/v1\/namespaces\/kube-system$/;
  const hasLooked = () =>
    open()
      .testbed.calls.slice(start)
      .some(({ simulator, name }) => simulator === 'workload' && isLook.test(name));
  await eventually('it has looked', hasLooked);
}

it.each([
  { hours: -10, name: 'main', what: 'ten hours behind' },
  { hours: 10, name: 'other', what: 'ten hours ahead' },
])('a provider whose clock is $what creates a cluster all the same', async ({ hours, name }) => {
  wallClock.set(hours);
  await open().testbed.objects.cluster(inShop(name));
  await eventually('it is ready', () => open().isReady(inShop(name)));
});

it('and grants access for the lifetime that the cluster sets', async () => {
  wallClock.set(0);
  for (const ref of asked)
    await open().testbed.objects.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
  for (const ref of asked) await eventually('access is granted', () => open().isGranted(ref));
  await withGrantedClient(open().testbed, main, async (holder) => await holder.list(ConfigMap));
});

it('a clock that jumps by hours in either direction changes nothing', async () => {
  const start = open().testbed.calls.length;
  for (const hours of [5, -5, 11, 20, -3, 0]) {
    wallClock.set(hours);
    for (let look = 0; look < 2; look += 1) await looksAgain();
    expect(await open().isReady(main)).toBe(true);
  }
  expect(tokensSince(start)).toBe(0);
});

it('a change that begins while the clock is hours ahead goes on when it is corrected', async () => {
  const { objects, platform } = open().testbed;
  const machines = async () => (await Promise.all([main, inShop('other')].map((ref) => objects.machines(ref)))).flat();
  const ahead = new Date(Date.now() + 3_600_000).toISOString();
  wallClock.set(5);
  const patches = [{ machine: { kubelet: { extraArgs: { 'max-pods': '200' } } } }];
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { talos: { patches } } });
  await eventually('a kubelet restarts', async () =>
    (await machines()).some(({ status }) => String(status?.progress?.facts[updateFacts.activeSince] ?? '') > ahead),
  );
  wallClock.set(0);
  await eventually(
    'every node is up to date',
    async () => (await machines()).every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate')),
    60,
  );
  for (const ref of [main, inShop('other')]) await eventually('it is ready', () => open().isReady(ref));
});

it('the cluster does not accept a clock that is weeks ahead, which is reported; a corrected clock restores everything at once', async () => {
  const start = open().testbed.calls.length;
  wallClock.set(25 * day);
  await nudge();
  await eventually('the Cluster does not answer to that', () => isSilent(main));
  await consistently(2, async () => expect(await open().isGranted(main)).toBe(true));
  // The Cluster's probes, with growing backoff, and none for the requests.
  expect(
    open()
      .testbed.calls.slice(start)
      .filter((call) => call.simulator === 'workload' && isProviderCall(call)).length,
  ).toBeLessThan(100);
  expect(tokensSince(start)).toBe(0);
  wallClock.set(0);
  const [back, late] = [performance.now(), startSchedulingDelay()];
  await eventually('the Cluster is ready', () => open().isReady(main));
  expect((performance.now() - back) / 1000).toBeLessThan(30 / speed + 5 + late());
});

it('one holder keeps the Lease all this time and never loses it to itself', () => {
  expect(open().fencing.holders).toHaveLength(1);
  expect(open().pod.deaths).toEqual([]);
  expect(open().fencing.takeViolations()).toEqual([]);
  expect(open().pod.faults()).toEqual([]);
});
