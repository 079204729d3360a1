import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Machine } from '../../src/api/machine.ts';
import type { NamespacedRef } from '../../src/api/openmcp.ts';
import type { Call } from '../world/switchboard.ts';
import { eventually } from './support/eventually.ts';
import { Fencing } from './support/fencing.ts';
import type { Trouble } from './support/network.ts';
import { NetworkedPod } from './support/pod.ts';
import { Stage } from './support/stage.ts';
import { bootstraps, nasTraces } from './support/traces.ts';
import { ConfigMap, madeFor, withAccess } from './support/workload.ts';

const leaseSeconds = 5;
/**
 * How long nobody acts at most. The last renewal may arrive a third of a lease after the cut; a successor looks every
 * 2/15 of a lease, and has to have seen nothing for a whole one.
 */
const mostSeconds = leaseSeconds * (1 / 3 + 2 / 15 + 1 + 2 / 15);
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

let stage: Stage;
let fencing: Fencing<NetworkedPod>;
const pods: NetworkedPod[] = [];

beforeAll(async () => {
  stage = await Stage.open({ subnet: '127.42.120', speed: 10 });
  for (const [i, name] of ['a', 'b'].entries())
    pods.push(await NetworkedPod.open(stage, { name, address: `127.42.121.${i + 1}`, leaseSeconds }));
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
  for (const pod of pods) await pod.close();
  await stage?.close();
});

const platform = (): RegExp => new RegExp(`:${new URL(stage.world.platform?.line.url ?? '').port}$`);
const otherThan = (pod: NetworkedPod): NetworkedPod => pods.find((one) => one !== pod) ?? pod;

/** Waits until the pod that leads is in the middle of such a call, and cuts it off from the platform there. */
function cutOff(trouble: Trouble, isMoment: (call: Call) => boolean): Promise<NetworkedPod> {
  return new Promise((resolve) => {
    const off = stage.world.switchboard.onCall((call) => {
      const pod = fencing.podOf(call);
      if (!pod || pod !== fencing.leader || !isMoment(call)) return;
      off();
      pod.network.cut(trouble, { to: platform() });
      resolve(pod);
    });
  });
}

/** That the other pod takes over, in time, and goes on with the work. */
async function expectSuccessor(fallen: NetworkedPod): Promise<void> {
  const start = performance.now();
  const successor = otherThan(fallen);
  await eventually('the other one leads', () => fencing.leader === successor, 3 * mostSeconds);
  expect((performance.now() - start) / 1000).toBeLessThan(mostSeconds);
  const before = fencing.changesOf(successor);
  await eventually('it works', () => fencing.changesOf(successor) > before);
}

const isReady = async (): Promise<boolean> => (await stage.things.getCluster(main)).status?.phase === 'Ready';
const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
  (await stage.things.getRequest(ref)).status?.phase === 'Granted';

async function ask(name: string): Promise<NamespacedRef> {
  const ref = { namespace: 'shop', name };
  await stage.things.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
  return ref;
}

/** That a request is granted, once, and that what was granted works. */
async function expectGranted(ref: NamespacedRef): Promise<void> {
  await eventually(`${ref.name} is granted`, () => isGranted(ref));
  expect(await madeFor(stage, main, ref)).toHaveLength(3);
  await withAccess(stage, ref, async (holder) => await holder.list(ConfigMap));
}

describe('the process that acts is cut off from the API server', () => {
  it('in the middle of making a machine: the other one goes on, and what arrives late changes nothing', async () => {
    const moment = cutOff('silent', ({ room, name }) => room === 'truenas' && name === 'vm.device.create');
    await stage.things.cluster(main);
    const fallen = await moment;
    await expectSuccessor(fallen);
    await eventually('the successor is further on', async () => {
      const [machine] = await stage.things.machines(main);
      return machine?.status?.progress?.step.startsWith('await-');
    });
    // What it had sent was on its way for all this time, and its kernel does not forget.
    fallen.network.heal({ stale: true });
    await eventually('the Cluster is ready', isReady);
    const late = fencing.takeViolations();
    expect(late.filter((words) => !/PATCH .*\/machines\/[^/]*\/status/.test(words))).toEqual([]);
    const [machine] = await stage.things.machines(main);
    const all = stage.recorder.values(Machine, { name: machine?.metadata.name ?? '' }, stepOf);
    const steps = all.filter((step) => step !== '');
    expect(steps, 'no step comes back').toEqual([...new Set(steps)]);
    expect(nasTraces(stage).filter((trace) => trace.startsWith('VM '))).toHaveLength(1);
    expect(new Set(bootstraps(stage.calls)).size).toBe(1);
  });

  it('in the middle of a grant, and its requests arrive while the answers are lost', async () => {
    const moment = cutOff('deaf', ({ room, name }) => room === 'workload' && /^POST .*\/clusterroles$/.test(name));
    const ref = await ask('deaf');
    const fallen = await moment;
    await expectSuccessor(fallen);
    await expectGranted(ref);
    fallen.network.heal();
  });

  it('at rest: the other one serves what comes then', async () => {
    const fallen = await eventually('somebody leads', () => fencing.leader);
    fallen.network.cut('silent', { to: platform() });
    const ref = await ask('late');
    await expectSuccessor(fallen);
    await expectGranted(ref);
    fallen.network.heal();
  });
});

const stepOf = (machine: Machine): string => machine.status?.progress?.step ?? '';

it('never did two act: nothing was changed by a process that did not hold the Lease at that moment', async () => {
  expect(fencing.takeViolations()).toEqual([]);
  expect(fencing.holders.length).toBeGreaterThanOrEqual(4);
});

it('who was cut off ended, was started again, and stands by', async () => {
  const deaths = pods.flatMap((pod) => pod.deaths);
  expect(deaths.length).toBeGreaterThanOrEqual(3);
  for (const death of deaths) expect(String(death)).toContain('The Lease was lost');
  const standby = otherThan(await eventually('somebody leads', () => fencing.leader));
  await eventually('it waits', () => standby.lines.at(-1)?.includes('waiting for the leader'));
});
