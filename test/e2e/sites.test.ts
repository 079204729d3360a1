import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type ConditionType, findFalse } from '../../src/api/conditions.ts';
import { Cluster, type NamespacedRef } from '../../src/api/openmcp.ts';
import { startTrueNas, type TrueNasRoom } from '../world/truenas/index.ts';
import { eventually } from './support/eventually.ts';
import { note } from './support/note.ts';
import { NetworkedPod } from './support/pod.ts';
import { Stage } from './support/stage.ts';

/** Waits and deadlines of the provider are so much shorter. */
const speed = 10;
const inShop = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const [near, far] = [inShop('near'), inShop('far')];
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

let stage: Stage;
let pod: NetworkedPod;
/** The NAS of the site that gets lost. */
let nas: TrueNasRoom;
let folder: string;

beforeAll(async () => {
  stage = await Stage.open({ subnet: '127.42.123', speed });
  folder = await mkdtemp(join(tmpdir(), 'far-'));
  const { clock, switchboard, machines: runner } = stage.world;
  nas = await startTrueNas({ host: '127.42.0.10', port: 0, folder, clock, switchboard, runner, extra: {} });
  pod = await NetworkedPod.open(stage, { name: 'talos-0', address: '127.42.123.201', hasteOfDeadlines: speed });
  pod.start();
  const { things } = stage;
  const { user = '', apiKey = '' } = nas.line.credentials;
  const caBundle = await readFile(nas.line.ca ?? '', 'utf8');
  await things.credentials();
  await things.credentials('far', { username: user, apiKey });
  await things.config('near', { pool: [10, 39] });
  await things.config('far', {
    pool: [40, 99],
    change: (spec) => Object.assign(spec.truenas, { url: nas.line.url, caBundle, credentialsRef: { name: 'far' } }),
  });
  for (const ref of [near, far]) await things.cluster(ref, { config: ref.name });
  for (const ref of [near, far]) await eventually(`${ref.name} is ready`, () => isReady(ref));
});
beforeEach(({ onTestFailed }) => {
  onTestFailed(() => {
    process.stderr.write(pod.tail() + stage.tail());
  });
});
afterAll(async () => {
  await pod?.close();
  await nas?.close();
  await stage?.close();
  await rm(folder, { recursive: true, force: true });
});

const isReady = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getCluster(ref)).status?.phase === 'Ready';
const says = async (ref: NamespacedRef, type: ConditionType): Promise<string | undefined> =>
  findFalse((await stage.things.getCluster(ref)).status?.conditions, type)?.message;
const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getRequest(ref)).status?.phase === 'Granted';
const ask = (name: string, clusterRef: NamespacedRef) =>
  stage.things.request(inShop(name), { clusterRef, token: { permissions: [{ rules }] } });

const secondsSince = (start: number): number => (performance.now() - start) / 1000;

/** The real seconds that something takes to come true. */
async function secondsUntil(what: string, look: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await eventually(what, async () => Boolean(await look()));
  return secondsSince(start);
}

/** How long a Cluster with access takes on the site that stays. */
async function secondsToServe(name: string): Promise<number> {
  await stage.things.cluster(inShop(name), { config: 'near' });
  await ask(name, inShop(name));
  return await secondsUntil(`${name} is served`, () => isGranted(inShop(name)));
}

const many = Array.from({ length: 20 }, (_, i) => `far-${i}`);

/** Waits and deadlines that are documented, in the time of the provider: a look each minute, and how long it may take. */
const told = { cluster: 60 + 15, machine: 60 + 40 };

it('a site that is lost is told in time, and delays no other', async () => {
  const undisturbed = await secondsToServe('before');
  for (const name of many) await ask(name, far);
  for (const name of many) await eventually(`${name} is granted`, () => isGranted(inShop(name)));
  const start = performance.now();
  pod.network.cut('silent', { to: new RegExp(`:${new URL(nas.line.url).port}$|^127\\.42\\.123\\.[4-9][0-9]:`) });
  // What is there and what is still to be made there keeps trying.
  await stage.things.cluster(inShop('far-too'), { config: 'far' });
  for (const name of many) await ask(`${name}-too`, far);
  const served = await secondsToServe('meanwhile');
  expect(served).toBeLessThan(2 * undisturbed + 5);
  await eventually('the Cluster says that it does not answer', () => says(far, 'EndpointReachable'));
  const seconds = { undisturbed, served, cluster: secondsSince(start), machine: 0 };
  await eventually('its machine says that the NAS does not answer', async () => {
    const [machine] = await stage.things.machines(far);
    return findFalse(machine?.status?.conditions, 'Healthy')?.message.includes('TrueNAS system could not be reached');
  });
  seconds.machine = secondsSince(start);
  note('site lost', seconds);
  // The test itself takes some of the time.
  expect(seconds.cluster).toBeLessThan(told.cluster / speed + served + 15);
  expect(seconds.machine).toBeLessThan(told.machine / speed + served + 15);
  const phases = stage.recorder.values(Cluster, near, ({ status }) => status?.phase);
  expect(phases).toEqual([undefined, 'Progressing', 'Ready']);
});

it('a site that is back is served within half a minute, and what was to be made there is made', async () => {
  pod.network.heal();
  const back = await secondsUntil('the Cluster is ready', () => isReady(far));
  expect(back).toBeLessThan(30 / speed + 15);
  const made = await secondsUntil('the other is made', () => isReady(inShop('far-too')));
  note('site back', { back, made });
  for (const name of many) await eventually(`${name} is granted`, () => isGranted(inShop(`${name}-too`)));
  expect(pod.deaths).toEqual([]);
  expect(pod.faults()).toEqual([]);
});
