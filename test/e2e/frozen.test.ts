import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { NamespacedRef } from '../../src/api/openmcp.ts';
import type { Call } from '../world/switchboard.ts';
import { eventually, throughout } from './support/eventually.ts';
import { Fencing } from './support/fencing.ts';
import { type Pod, programPod } from './support/pod.ts';
import { Stage } from './support/stage.ts';
import { bootstraps, nasTraces } from './support/traces.ts';
import { madeFor } from './support/workload.ts';

/** A Lease of fifteen seconds lasts three here. */
const speed = 5;
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

let stage: Stage;
let fencing: Fencing;
const pods: Pod[] = [];

beforeAll(async () => {
  stage = await Stage.open({ subnet: '127.42.122', speed });
  for (const [i, name] of ['a', 'b'].entries())
    pods.push(programPod(stage, { name, address: `127.42.123.${i + 1}`, speed }));
  fencing = new Fencing(stage, pods);
  // One after the other: who makes the Lease is seen to do so before it has it.
  for (const pod of pods) {
    pod.start();
    await eventually('somebody leads', () => fencing.leader);
  }
  await stage.things.credentials();
  await stage.things.config('home', { controlPlanes: 1 });
});
beforeEach(({ onTestFailed }) => {
  onTestFailed(() => {
    process.stderr.write(pods.map((pod) => pod.tail()).join('') + stage.tail());
  });
});
afterAll(async () => {
  fencing?.close();
  // One that stands still would not hear that it is to end.
  for (const pod of pods) pod.signal('SIGCONT');
  await Promise.all(pods.map((pod) => pod.stop()));
  await stage?.close();
});

/** Waits until the pod that leads is in the middle of such a call, and has it stand still there: the answer finds it so. */
function freeze(isMoment: (call: Call) => boolean): Promise<Pod> {
  return new Promise((resolve) => {
    const off = stage.world.switchboard.onCall((call) => {
      const pod = fencing.podOf(call);
      if (!pod || pod !== fencing.leader || !isMoment(call)) return;
      off();
      pod.signal('SIGSTOP');
      resolve(pod);
    });
  });
}

/** Lets it go on once another one acts. What it does then must be nothing: it ends, and is started again. */
async function wake(sleeper: Pod): Promise<void> {
  const successor = pods.find((pod) => pod !== sleeper) ?? sleeper;
  await eventually('the other one leads', () => fencing.leader === successor);
  const before = fencing.changesOf(successor);
  await eventually('it works', () => fencing.changesOf(successor) > before);
  const deaths = sleeper.deaths.length;
  sleeper.signal('SIGCONT');
  await eventually('it ends', () => sleeper.deaths.length > deaths);
  expect(fencing.takeViolations()).toEqual([]);
}

/** The nth of such calls to the NAS. */
function onNas(name: string, nth: number): (call: Call) => boolean {
  let left = nth;
  return (call) => {
    if (call.room === 'truenas' && call.name === name) left -= 1;
    return left === 0;
  };
}

const isReady = async (name: string): Promise<boolean> =>
  (await stage.things.getCluster({ namespace: 'shop', name })).status?.phase === 'Ready';
const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getRequest(ref)).status?.phase === 'Granted';

it.each([
  // The second look is that of the copying, which goes on beside the steps. What follows would be a dataset.
  { moment: 'it begins to copy the boot image', cluster: 'main', name: 'pool.dataset.query', nth: 2 },
  // What follows would be a word in the status of the Machine.
  { moment: 'it makes a VM', cluster: 'more', name: 'vm.create', nth: 1 },
])('a process that stood still while $moment wakes up and changes nothing any more', async ({ cluster, name, nth }) => {
  const frozen = freeze(onNas(name, nth));
  await stage.things.cluster({ namespace: 'shop', name: cluster });
  await wake(await frozen);
});

it('nor one that stood still in the middle of a grant', async () => {
  await eventually('the Clusters are ready', async () => (await isReady('main')) && (await isReady('more')));
  const frozen = freeze(({ room, name }) => room === 'workload' && /^POST .*\/serviceaccounts$/.test(name));
  await stage.things.request(main, { clusterRef: main, token: { permissions: [{ rules }] } });
  await wake(await frozen);
});

it('in the end everything is there, and once', async () => {
  await eventually('access is granted', () => isGranted(main));
  expect(await madeFor(stage, main, main)).toHaveLength(3);
  expect(nasTraces(stage).filter((trace) => trace.startsWith('VM '))).toHaveLength(2);
  expect(new Set(bootstraps(stage.calls)).size).toBe(2);
  await throughout(1, () => expect(fencing.takeViolations()).toEqual([]));
});
