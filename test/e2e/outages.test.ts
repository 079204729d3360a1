import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findFalse } from '../../src/api/conditions.ts';
import type { NamespacedRef } from '../../src/api/openmcp.ts';
import { Secret } from '../../src/kube/core-types.ts';
import type { Call } from '../world/switchboard.ts';
import { longestSleep, mostAttempts, waits } from './support/bounds.ts';
import { hurried } from './support/clock.ts';
import { eventually } from './support/eventually.ts';
import type { Trouble } from './support/network.ts';
import { note } from './support/note.ts';
import { NetworkedPod } from './support/pod.ts';
import { Stage } from './support/stage.ts';
import { isOfProvider } from './support/traces.ts';
import { accessSecret } from './support/workload.ts';

/** How much faster than ours the time of the controllers runs, that of the watches, and that of deadlines. The Lease keeps real time. */
const [speed, watchSpeed, haste] = [10, 30, 5];
const leaseSeconds = 45;
/** Real seconds: minutes for the provider. */
const outageSeconds = 5;
/** Watches of the provider, and requests that it works on at the same time. */
const [watches, workers] = [7, 16];
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
const many = Array.from({ length: 50 }, (_, i) => ({ namespace: 'shop', name: `many-${i}` }));

let stage: Stage;
let pod: NetworkedPod;

beforeAll(async () => {
  stage = await Stage.open({ subnet: '127.42.124', speed });
  pod = await NetworkedPod.open(stage, {
    name: 'talos-0',
    address: '127.42.125.1',
    leaseSeconds,
    watchClock: hurried(watchSpeed),
    hasteOfDeadlines: haste,
  });
  pod.start();
  const { things } = stage;
  await things.credentials();
  await things.config('home', { controlPlanes: 1 });
  await things.cluster(main);
  await ask(main);
  await eventually('the Cluster is ready', () => isReady(main));
  await eventually('access is granted', () => isGranted(main));
});
beforeEach(({ onTestFailed }) => {
  onTestFailed(() => {
    process.stderr.write(pod.tail() + stage.tail());
  });
});
afterAll(async () => {
  await pod?.close();
  await stage?.close();
});

const isReady = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getCluster(ref)).status?.phase === 'Ready';
const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getRequest(ref)).status?.phase === 'Granted';
const ask = (ref: NamespacedRef) =>
  stage.things.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });

const portOf = (url: string | undefined): RegExp => new RegExp(`:${new URL(url ?? '').port}$`);
const platform = (): RegExp => portOf(stage.world.platform?.line.url);
const nas = (): RegExp => portOf(stage.world.truenas.line.url);
const workload = /:6443$/;

const secondsSince = (start: number): number => (performance.now() - start) / 1000;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What was measured in an outage and after it. */
interface Outage {
  readonly start: number;
  readonly seconds: number;
  /** Attempts to connect, while it lasted. */
  readonly attempts: number;
  readonly calls: readonly Call[];
}

/** Cuts the provider off from a server for some seconds, in which `meanwhile` happens. */
async function outage(trouble: Trouble, to: RegExp, meanwhile: () => Promise<void> = async () => {}): Promise<Outage> {
  const start = performance.now();
  const calls = stage.calls.length;
  pod.network.cut(trouble, { to });
  await meanwhile();
  await pause(outageSeconds - secondsSince(start));
  const attempts = pod.network.attemptsAt(to, start);
  const seconds = secondsSince(start);
  pod.network.forgetMostOpen();
  pod.network.heal();
  return { start, seconds, attempts, calls: stage.calls.slice(calls).filter(isOfProvider) };
}

/** Waits for the end of the trouble, and for how long that took. */
async function recovery(what: string, look: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  await eventually(what, look);
  return secondsSince(start);
}

/** Requests to the API server in an outage: by each watch, for the Lease, and for each object that is due. */
const platformBound = (seconds: number, objects: number): number =>
  watches * mostAttempts(seconds * watchSpeed, waits.watch) +
  Math.ceil(seconds / (leaseSeconds / 15)) +
  objects * mostAttempts(seconds * speed, waits.object);

/** In real seconds, after an outage of so many of them. */
const watchesReturnIn = (seconds: number): number => longestSleep(seconds * watchSpeed, waits.watch) / watchSpeed;

const all = async (look: (ref: NamespacedRef) => Promise<boolean>): Promise<boolean> =>
  (await Promise.all(many.map(look))).every(Boolean);
const isWaiting = async (ref: NamespacedRef): Promise<boolean> =>
  findFalse((await stage.things.getRequest(ref)).status?.conditions, 'ClusterReady') !== undefined;
const isPlatformCall = (call: Call): boolean => call.room === 'kube' && isOfProvider(call);

describe('the API server of the platform is away, and forgets its history meanwhile', () => {
  let measured: Outage;
  let calls: number;
  let lost: string;

  it('it is asked as often as the back-off allows, and no more', async () => {
    lost = (await accessSecret(stage, main)).metadata.name;
    measured = await outage('refused', platform(), async () => {
      await stage.platform.remove(Secret, { namespace: 'shop', name: lost });
      for (const ref of many) await ask(ref);
      stage.world.platform?.store.compact();
    });
    calls = stage.calls.length;
    const { seconds, attempts } = measured;
    note('platform refused', { seconds, attempts, bound: platformBound(seconds, 3) });
    expect(attempts).toBeLessThanOrEqual(platformBound(seconds, 3));
  });

  it('fifty requests that came meanwhile are granted at once, and without a stampede', async () => {
    const seconds = await recovery('all are granted', () => all(isGranted));
    expect(seconds).toBeLessThan(watchesReturnIn(measured.seconds) + 20);
    const open = [platform(), workload].map((to) => pod.network.mostOpenAt(to));
    const made = stage.calls.slice(calls).filter(isOfProvider).length;
    note('fifty after it', { seconds, open, made });
    // One connection for each watch, the Lease, the Events and each worker; looks into a cluster are five at a time.
    expect(Math.max(...open)).toBeLessThanOrEqual(watches + 2 + workers + 3 * 5);
    // Thirteen for each grant (docs/benchmarks.md), and one list and one watch of each kind.
    expect(made).toBeLessThanOrEqual(13 * (many.length + 1) + 3 * watches);
  });

  it('what vanished without a trace is noticed', async () => {
    await eventually('the Secret is back', () => stage.things.exists(Secret, { namespace: 'shop', name: lost }));
  });
});

it('an API server that answers nothing but 503 is asked as often as the back-off allows', async () => {
  const off = stage.world.switchboard.judge((call) =>
    isPlatformCall(call) ? { kind: 'error', status: 503 } : undefined,
  );
  const start = stage.calls.length;
  await stage.world.platform?.restart();
  await pause(outageSeconds);
  off();
  const made = stage.calls.slice(start).filter(isPlatformCall).length;
  const again = { namespace: 'shop', name: 'again' };
  await ask(again);
  const seconds = await recovery('it is granted', () => isGranted(again));
  note('platform 503', { made, bound: platformBound(outageSeconds, 3), seconds });
  expect(made).toBeLessThanOrEqual(platformBound(outageSeconds, 3));
  expect(seconds).toBeLessThan(watchesReturnIn(outageSeconds) + 5);
});

it('watches whose other end is dead are found out after three minutes, and nothing is missed', async () => {
  pod.network.cut('silent', { to: platform(), onlyOpen: true });
  const quiet = { namespace: 'shop', name: 'quiet' };
  await ask(quiet);
  const seconds = await recovery('it is granted', () => isGranted(quiet));
  note('half-open', { seconds });
  // Other calls meet dead connections as well, and have a deadline of half a minute.
  expect(seconds).toBeLessThan(180 / watchSpeed + 30 / haste + 5);
  expect(pod.deaths).toEqual([]);
});

it('a cluster that is away is asked by one for all who have to do with it', async () => {
  const { seconds, attempts } = await outage('refused', workload, async () => {
    await eventually('all requests say that they wait', () => all(isWaiting), 2 * (60 / speed) + 5);
  });
  const back = await recovery(
    'it is ready and all requests know',
    async () => (await isReady(main)) && !(await isWaiting(many[0] ?? main)),
  );
  note('cluster refused', { seconds, attempts, back });
  // The Cluster every five seconds or later, and requests that were looked at before that was known.
  expect(attempts).toBeLessThanOrEqual((seconds * speed) / 5 + many.length);
  expect(back).toBeLessThan(30 / speed + 5);
  expect(await all(isGranted)).toBe(true);
});

it('a NAS that is away is tried by one for all machines that are made on it', async () => {
  const { things } = stage;
  const three = { namespace: 'shop', name: 'three' };
  await things.config('three', { controlPlanes: 3, pool: [40, 59] });
  await eventually('it is taken', async () => (await things.getConfig('three')).status?.phase === 'Ready');
  await things.cluster(three, { config: 'three' });
  const start = stage.calls.length;
  await eventually('a VM is made', () => stage.calls.slice(start).some(({ name }) => name === 'vm.create'));
  const { seconds, attempts, calls } = await outage('refused', nas());
  const writes = calls.filter((call) => isPlatformCall(call) && /^PATCH .*\/machines\//.test(call.name)).length;
  const back = await recovery('the Cluster is ready', () => isReady(three));
  note('NAS refused', { seconds, attempts, bound: mostAttempts(seconds * speed, waits.nas), writes, back });
  expect(attempts).toBeLessThanOrEqual(mostAttempts(seconds * speed, waits.nas));
  // The record before and after each attempt, and a word about it.
  expect(writes).toBeLessThanOrEqual(3 * 3 * mostAttempts(seconds * speed, waits.step));
  expect(back).toBeLessThan(longestSleep(seconds * speed, waits.step) / speed + 15);
});
