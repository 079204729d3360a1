import { mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type Condition, type ConditionType, findFalseCondition } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import type { KubeObject, ObjectKey, ResourceType } from '../../../src/kube/resource.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import { backoffBounds, maxAttempts } from '../support/observation/backoff-bounds.ts';
import type { RecordedVersion } from '../support/observation/object-recorder.ts';
import { printMeasurement } from '../support/observation/print-measurement.ts';
import { isProviderCall } from '../support/observation/provider-calls.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

/** How much shorter the waits of the provider are, and its deadlines. */
const [speed, haste] = [10, 5];
const inShop = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const [near, far] = [inShop('near'), inShop('far')];
/** Concurrent reconciles of one controller. */
const workers = 16;
/** Seconds for the work itself, without waits. */
const slackSeconds = 5;
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

/** The NAS of the failure domain that is lost. */
let nas: TrueNasSimulator;
const folder = mkdtempSync(join(tmpdir(), 'far-'));

const open = startReplicaTestbed({ subnet: '127.42.123', speed }, async (testbed) => {
  const { clock, switchboard, machines: runner } = testbed.world;
  nas = await startTrueNasSimulator({ host: '127.42.0.10', port: 0, folder, clock, switchboard, runner, extra: {} });
  return [
    await InProcessReplica.open(testbed, { name: 'talos-0', address: '127.42.123.201', hasteOfDeadlines: haste }),
  ];
});
afterAll(async () => {
  await nas?.close();
  await rm(folder, { recursive: true, force: true });
});

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    const { user = '', apiKey = '' } = nas.line.credentials;
    const caBundle = await readFile(nas.line.ca ?? '', 'utf8');
    await objects.credentials();
    await objects.credentials('far', { username: user, apiKey });
    await objects.config('near', { pool: [10, 39] });
    await objects.config('far', {
      pool: [40, 99],
      change: (spec) => Object.assign(spec.truenas, { url: nas.line.url, caBundle, credentialsRef: { name: 'far' } }),
    });
    for (const ref of [near, far]) await objects.cluster(ref, { config: ref.name });
    for (const ref of [near, far]) await eventually(`${ref.name} is ready`, () => open().isReady(ref), 100);
  },
);

const ask = (name: string, clusterRef: NamespacedRef) =>
  open().testbed.objects.request(inShop(name), { clusterRef, token: { permissions: [{ rules }] } });

const nasOf = ({ line }: TrueNasSimulator): RegExp => new RegExp(`:${new URL(line.url).port}$`);

/** Seconds from now until the object reports a False condition. */
async function secondsUntilTold<T extends WithConditions>(
  type: ResourceType<T>,
  key: ObjectKey,
  condition: ConditionType,
  since: number,
): Promise<number> {
  const isIt = ({ at, object }: RecordedVersion<T>): boolean =>
    at.getTime() >= since && findFalseCondition(object.status?.conditions, condition) !== undefined;
  const first = await eventually(`${key.name} tells`, () => open().testbed.recorder.of(type, key).find(isIt));
  return (first.at.getTime() - since) / 1000;
}

interface WithConditions extends KubeObject {
  status?: { conditions?: Condition[] };
}

/**
 * Makes a Cluster in the failure domain that stays, and requests access to it. Returns, for each of the two objects,
 * the seconds from its creation to the provider's first call about it: its time in the queue.
 */
async function secondsInLine(name: string): Promise<number> {
  const first = open().testbed.calls.length;
  await open().testbed.objects.cluster(inShop(name), { config: 'near' });
  await ask(name, inShop(name));
  await eventually(`${name} is served`, () => open().isGranted(inShop(name)));
  const about = (plural: string): InterceptedCall[] =>
    open()
      .testbed.calls.slice(first)
      .filter(({ simulator, name: call }) => simulator === 'kube' && isAbout(call, plural, name));
  return Math.max(...['clusters', 'accessrequests'].map((plural) => firstAnswer(about(plural))));
}

/** A change of the object, or its creation. */
const isAbout = (call: string, plural: string, name: string): boolean =>
  new RegExp(`^(PATCH .*/${plural}/${name}(/status)?|POST .*/${plural})$`).test(call);

/** From the last call of another client to the provider's first call. */
function firstAnswer(calls: readonly InterceptedCall[]): number {
  const own = calls.findIndex(isProviderCall);
  const inherited = calls[own - 1]?.at.getTime() ?? Number.NaN;
  return ((calls[own]?.at.getTime() ?? Number.NaN) - inherited) / 1000;
}

const many = Array.from({ length: 20 }, (_, i) => `far-${i}`);

/**
 * In real seconds. A machine is observed every minute. A cluster whose nodes have reported recently is asked directly
 * after its machine was found silent, and that call has its own deadline.
 */
const silentMachine = (60 + 40) / speed + 15 / haste;
const told = { cluster: silentMachine + 15 / haste, machine: silentMachine };

it('T58: the loss of a failure domain is reported in time, and delays no other', async () => {
  const undisturbed = await secondsInLine('before');
  for (const name of many) await ask(name, far);
  for (const name of many) await eventually(`${name} is granted`, () => open().isGranted(inShop(name)));
  const [start, cutAt, late] = [performance.now(), Date.now(), startSchedulingDelay()];
  open().pod.network.cut('silent', { to: new RegExp(`${nasOf(nas).source}|^127\\.42\\.123\\.[4-9][0-9]:`) });
  // The provider keeps retrying for the existing Cluster and for the one in creation.
  await open().testbed.objects.cluster(inShop('far-too'), { config: 'far' });
  for (const name of many) await ask(`${name}-too`, far);
  const disturbed = await secondsInLine('meanwhile');
  const [machine] = await open().testbed.objects.machines(far);
  const since = {
    cluster: await secondsUntilTold(Cluster, far, 'EndpointReachable', cutAt),
    machine: await secondsUntilTold(Machine, { name: machine?.metadata.name ?? '' }, 'Healthy', cutAt),
  };
  const lag = late();
  const lasted = ((performance.now() - start) / 1000) * speed;
  const attempts = {
    nas: open().pod.network.attemptsAt(nasOf(nas), start),
    apiServer: open().pod.network.attemptsAt(/^127\.42\.123\.[4-9][0-9]:6443$/, start),
    nodes: open().pod.network.attemptsAt(/^127\.42\.123\.[4-9][0-9]:50000$/, start),
  };
  printMeasurement('site lost', { undisturbed, disturbed, since, attempts, lag });
  // One connection for the whole failure domain, however many machines it has.
  expect(attempts.nas).toBeLessThanOrEqual(maxAttempts(lasted, backoffBounds.nas) + 1);
  // The workers that were connected when it fell silent, and then one call every two seconds.
  expect(attempts.apiServer).toBeLessThanOrEqual(workers + 5 + lasted / 2 + 1);
  // A machine is observed once a minute, and not at all while its NAS does not answer.
  expect(attempts.nodes).toBeLessThanOrEqual(lasted / 60 + 1);
  // Every worker that was connected when it fell silent may wait for one call, and no later worker.
  expect(disturbed).toBeLessThan(undisturbed + 15 / haste + 2 + lag);
  expect(since.cluster).toBeLessThan(told.cluster + slackSeconds + lag);
  expect(since.machine).toBeLessThan(told.machine + slackSeconds + lag);
  const phases = open().testbed.recorder.values(Cluster, near, ({ status }) => status?.phase);
  expect(phases).toEqual([undefined, 'Progressing', 'Ready']);
});

it('a failure domain that returns is reconciled within half a minute, and its pending creations finish', async () => {
  open().pod.network.heal();
  const [healedAt, late] = [Date.now(), startSchedulingDelay()];
  await eventually('the Cluster is ready', () => open().isReady(far));
  const back = (Date.now() - healedAt) / 1000;
  printMeasurement('site back', { back });
  expect(back).toBeLessThan(30 / speed + 2 * slackSeconds + late());
  await eventually('the other is made', () => open().isReady(inShop('far-too')), 100);
  for (const name of many) await eventually(`${name} is granted`, () => open().isGranted(inShop(`${name}-too`)));
  expect(open().pod.deaths).toEqual([]);
  expect(open().pod.faults()).toEqual([]);
});
