import { describe, expect, it } from 'vitest';
import { findFalseCondition } from '../../../src/api/conditions.ts';
import { AccessRequest, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { accessSecret } from '../support/access/workload-cluster.ts';
import { backoffBounds, maxAttempts, maxDelayAfterOutage } from '../support/observation/backoff-bounds.ts';
import { printMeasurement } from '../support/observation/print-measurement.ts';
import { isProviderCall, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { acceleratedClock } from '../support/provider-process/accelerated-clock.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import type { NetworkFault } from '../support/provider-process/simulated-network.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

/**
 * Factors by which the controllers, the watches and the deadlines run faster than real time. The Lease keeps real time.
 */
const [speed, watchSpeed, haste] = [10, 30, 5];
const leaseSeconds = 45;
/** Real seconds: minutes for the provider. */
const outageSeconds = 4;
/** Seconds for the work itself, without waits. */
const slackSeconds = 5;
/** Watches of the provider, and the concurrent reconciles of one controller. */
const [watches, workers] = [8, 16];
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const many = Array.from({ length: 50 }, (_, i) => ({ namespace: 'shop', name: `many-${i}` }));

const open = startReplicaTestbed({ subnet: '127.42.124', speed }, async (testbed) => [
  await InProcessReplica.open(testbed, {
    name: 'talos-0',
    address: '127.42.125.1',
    leaseSeconds,
    watchClock: acceleratedClock(watchSpeed),
    hasteOfDeadlines: haste,
  }),
]);

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
    await objects.cluster(main);
    await ask(main);
    await eventually('the Cluster is ready', () => open().isReady(main));
    await eventually('access is granted', () => open().isGranted(main));
  },
);

const ask = (ref: NamespacedRef) =>
  open().testbed.objects.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });

const portOf = (url: string | undefined): RegExp => new RegExp(`:${new URL(url ?? '').port}$`);
const platform = (): RegExp => portOf(open().testbed.world.platform?.line.url);
const nas = (): RegExp => portOf(open().testbed.world.truenas.line.url);
const workload = /:6443$/;

const secondsSince = (start: number): number => (performance.now() - start) / 1000;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Measurements during an outage and after it. */
interface Outage {
  readonly start: number;
  readonly seconds: number;
  /** Attempts to connect during the outage. */
  readonly attempts: number;
  readonly calls: readonly InterceptedCall[];
}

/** Cuts the provider off from a server for some seconds, in which `meanwhile` happens. */
async function outage(
  problem: NetworkFault,
  to: RegExp,
  meanwhile: () => Promise<void> = async () => {},
): Promise<Outage> {
  const start = performance.now();
  const calls = open().testbed.calls.length;
  open().pod.network.cut(problem, { to });
  await meanwhile();
  await pause(outageSeconds - secondsSince(start));
  const attempts = open().pod.network.attemptsAt(to, start);
  const seconds = secondsSince(start);
  open().pod.network.forgetMostOpen();
  open().pod.network.heal();
  return { start, seconds, attempts, calls: open().testbed.calls.slice(calls).filter(isProviderCall) };
}

/**
 * Seconds from the end of the outage to the calls that prove the recovery: `times` calls of a kind, or the first.
 * Scheduling delays do not count: they depend on the machine that runs the test.
 */
async function recovery(what: string, isIt: (call: InterceptedCall) => boolean, times = 1): Promise<number> {
  const [start, first, late] = [Date.now(), open().testbed.calls.length, startSchedulingDelay()];
  const found = (): InterceptedCall | undefined =>
    open().testbed.calls.slice(first).filter(isProviderCall).filter(isIt)[times - 1];
  const call = await eventually(what, found);
  return (call.at.getTime() - start) / 1000 - late();
}

/** Requests to the API server in an outage: by each watch, for the Lease, and for each object that is due. */
const platformBound = (seconds: number, objects: number): number =>
  watches * maxAttempts(seconds * watchSpeed, backoffBounds.watch) +
  Math.ceil(seconds / (leaseSeconds / 15)) +
  objects * maxAttempts(seconds * speed, backoffBounds.object);

/** In real seconds, after an outage of so many of them. */
const watchesReturnIn = (seconds: number): number =>
  maxDelayAfterOutage(seconds * watchSpeed, backoffBounds.watch) / watchSpeed;

/** The statuses of all fifty requests, by one call. */
async function statuses(): Promise<AccessRequest['status'][]> {
  const { items } = await open().testbed.platform.list(AccessRequest, { namespace: 'shop' });
  const found = many.map(({ name }) => items.find(({ metadata }) => metadata.name === name));
  return found.map((request) => request?.status);
}

const areGranted = async (): Promise<boolean> => (await statuses()).every((status) => status?.phase === 'Granted');
const waiting = async (): Promise<number> =>
  (await statuses()).filter((status) => findFalseCondition(status?.conditions, 'ClusterReady')).length;
/** A call about access, not about Clusters, Machines or leader election. */
const isForRequest = ({ simulator, name }: InterceptedCall): boolean =>
  simulator === 'kube'
    ? /\/namespaces\/shop\/(accessrequests|secrets|events)/.test(name)
    : !/kube-system$|\/version$/.test(name);

/** The first call of a watch. */
const isWatch = ({ simulator, detail }: InterceptedCall): boolean =>
  simulator === 'kube' && (detail as { query?: { watch?: string } }).query?.watch !== undefined;
const isPlatformCall = (call: InterceptedCall): boolean => call.simulator === 'kube' && isProviderCall(call);

describe('an outage of the platform API server, which loses its watch history meanwhile', () => {
  let calls: number;
  let lost: string;

  it('calls to it stay within the backoff and resume soon after its return', async () => {
    lost = (await accessSecret(open().testbed, main)).metadata.name;
    const measured = await outage('refused', platform(), async () => {
      await open().testbed.platform.remove(Secret, { namespace: 'shop', name: lost });
      for (const ref of many) await ask(ref);
      open().testbed.world.platform?.store.compact();
    });
    calls = open().testbed.calls.length;
    const { seconds, attempts } = measured;
    const back = await recovery('all watches are back', isWatch, watches);
    printMeasurement('platform refused', { seconds, attempts, bound: platformBound(seconds, 3), back });
    expect(attempts).toBeLessThanOrEqual(platformBound(seconds, 3));
    expect(back).toBeLessThan(watchesReturnIn(seconds) + slackSeconds);
  });

  it('fifty requests made meanwhile are granted without a stampede', async () => {
    await eventually('all are granted', areGranted, 100);
    const connections = [platform(), workload].map((to) => open().pod.network.mostOpenAt(to));
    const made = open().testbed.calls.slice(calls).filter(isProviderCall).filter(isForRequest).length;
    printMeasurement('fifty after it', { connections, made });
    // One connection for each watch, the Lease, the Events and each worker; at most five reconciles call a cluster at
    // once.
    expect(Math.max(...connections)).toBeLessThanOrEqual(watches + 2 + workers + 3 * 5);
    // Thirteen for each grant (docs/development/benchmarks.md).
    expect(made).toBeLessThanOrEqual(13 * (many.length + 1));
  });

  it('deletions during the outage are noticed', async () => {
    await eventually('the Secret is back', () =>
      open().testbed.objects.exists(Secret, { namespace: 'shop', name: lost }),
    );
  });
});

it('calls to an API server that answers only 503 stay within the backoff', async () => {
  const off = open().testbed.world.switchboard.judge((call) =>
    isPlatformCall(call) ? { kind: 'error', status: 503 } : undefined,
  );
  const start = open().testbed.calls.length;
  await open().testbed.world.platform?.restart();
  await pause(outageSeconds);
  off();
  const made = open().testbed.calls.slice(start).filter(isPlatformCall).length;
  const back = await recovery('all watches are back', isWatch, watches);
  printMeasurement('platform 503', { made, bound: platformBound(outageSeconds, 3), back });
  expect(made).toBeLessThanOrEqual(platformBound(outageSeconds, 3));
  expect(back).toBeLessThan(watchesReturnIn(outageSeconds) + slackSeconds);
});

it('watches over dead connections are detected after three minutes, and no event is lost', async () => {
  open().pod.network.cut('silent', { to: platform(), onlyOpen: true });
  await ask({ namespace: 'shop', name: 'quiet' });
  const seconds = await recovery('it is seen', (call) => isPlatformCall(call) && /\/quiet(\/status)?$/.test(call.name));
  printMeasurement('half-open', { seconds });
  // Other calls use dead connections as well, and have a deadline of half a minute.
  expect(seconds).toBeLessThan(180 / watchSpeed + 30 / haste + slackSeconds);
  await eventually('it is granted', () => open().isGranted({ namespace: 'shop', name: 'quiet' }));
  expect(open().pod.deaths).toEqual([]);
});

it('one call at a time probes an unreachable cluster for all its objects', async () => {
  const { seconds, attempts } = await outage('refused', workload, async () => {
    await eventually('all requests say that they wait', async () => (await waiting()) === many.length, 100);
  });
  const back = await recovery('it is asked', ({ simulator }) => simulator === 'workload');
  const bound = workers + (seconds * speed) / 2 + 1;
  printMeasurement('cluster refused', { seconds, attempts, bound, back });
  // The workers that were connected, and then one call for all of them every two seconds.
  expect(attempts).toBeLessThanOrEqual(bound);
  expect(back).toBeLessThan(30 / speed + slackSeconds);
  await eventually('all know', async () => (await open().isReady(main)) && (await waiting()) === 0, 100);
  expect(await areGranted()).toBe(true);
});

it('one connection at a time probes an unreachable NAS for all machines in creation on it', async () => {
  const { objects } = open().testbed;
  const three = { namespace: 'shop', name: 'three' };
  await objects.config('three', { controlPlanes: 1, workers: 2, pool: [40, 59] });
  await eventually('it is taken', async () => (await objects.getConfig('three')).status?.phase === 'Ready');
  const start = open().testbed.calls.length;
  await objects.cluster(three, { config: 'three' });
  await eventually('a VM is made', () =>
    open()
      .testbed.calls.slice(start)
      .some(({ name }) => name === 'vm.create'),
  );
  const { seconds, attempts, calls } = await outage('refused', nas());
  const writes = calls.filter((call) => isPlatformCall(call) && /^PATCH .*\/machines\//.test(call.name)).length;
  const back = await recovery('somebody logs in', ({ name }) => name === 'auth.login_ex');
  const [max, mostWrites] = [
    maxAttempts(seconds * speed, backoffBounds.nas),
    9 * maxAttempts(seconds * speed, backoffBounds.step),
  ];
  printMeasurement('NAS refused', { seconds, attempts, most: max, writes, mostWrites, back });
  expect(attempts).toBeLessThanOrEqual(max);
  // For each of three machines, the record before and after each attempt, and one message.
  expect(writes).toBeLessThanOrEqual(mostWrites);
  // The first call is for one of the machines, or for the next check of a ProviderConfig.
  expect(back).toBeLessThan(maxDelayAfterOutage(seconds * speed, backoffBounds.step) / speed + slackSeconds);
  const madeVms = () => listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('VM ')).length;
  await eventually('all machines are made', () => madeVms() === 4);
});
