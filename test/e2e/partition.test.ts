import { describe, expect, it } from 'vitest';
import { Machine } from '../../src/api/machine.ts';
import type { NamespacedRef } from '../../src/api/openmcp/types.ts';
import { eventually } from '../support/eventually.ts';
import type { InterceptedCall } from '../world/faults/call-interceptor.ts';
import { ConfigMap, listAccessObjects, withGrantedClient } from './support/access/workload-cluster.ts';
import { printMeasurement } from './support/observation/print-measurement.ts';
import { bootstrappedNodes, listNasLeftovers } from './support/observation/provider-calls.ts';
import { startSchedulingDelay } from './support/observation/scheduling-delay.ts';
import { InProcessReplica } from './support/provider-process/provider-replica.ts';
import type { NetworkFault } from './support/provider-process/simulated-network.ts';
import { startReplicaTestbed } from './support/testbed/replica-testbed.ts';
import { prepareTestbed } from './support/testbed/testbed-hooks.ts';

const leaseSeconds = 6;
/**
 * How long nobody acts at most. The last renewal may arrive a third of a lease after the cut; a successor looks every
 * 2/15 of a lease, and has to have seen nothing for a whole one.
 */
const mostSeconds = leaseSeconds * (1 / 3 + 2 / 15 + 1 + 2 / 15);
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

const open = startReplicaTestbed({ subnet: '127.42.120', speed: 10 }, (stage) =>
  Promise.all(
    ['a', 'b'].map((name, i) => InProcessReplica.open(stage, { name, address: `127.42.121.${i + 1}`, leaseSeconds })),
  ),
);

prepareTestbed(
  () => open().stage,
  async ({ things }) => {
    await things.credentials();
    await things.config('home', { controlPlanes: 1 });
  },
);

const platform = (): RegExp => new RegExp(`:${new URL(open().stage.world.platform?.line.url ?? '').port}$`);

/** Waits until the pod that leads is in the middle of such a call, and cuts it off from the platform there. */
function cutOff(trouble: NetworkFault, isMoment: (call: InterceptedCall) => boolean): Promise<InProcessReplica> {
  return new Promise((resolve) => {
    const off = open().stage.world.switchboard.onCall((call) => {
      const pod = open().fencing.podOf(call);
      if (!pod || pod !== open().fencing.leader || !isMoment(call)) return;
      off();
      pod.network.cut(trouble, { to: platform() });
      resolve(pod);
    });
  });
}

/** That the other pod takes over, in time, and goes on with the work. */
async function expectSuccessor(fallen: InProcessReplica): Promise<void> {
  const [start, late] = [performance.now(), startSchedulingDelay()];
  const successor = open().otherThan(fallen);
  await eventually('the other one leads', () => open().fencing.leader === successor, 3 * mostSeconds);
  const seconds = (performance.now() - start) / 1000;
  const lag = late();
  printMeasurement('successor', { seconds, lag, mostSeconds });
  expect(seconds - lag).toBeLessThan(mostSeconds);
  const before = open().fencing.changesOf(successor);
  await eventually('it works', () => open().fencing.changesOf(successor) > before);
}

async function ask(name: string): Promise<NamespacedRef> {
  const ref = { namespace: 'shop', name };
  await open().stage.things.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
  return ref;
}

/** That a request is granted, once, and that what was granted works. */
async function expectGranted(ref: NamespacedRef): Promise<void> {
  await eventually(`${ref.name} is granted`, () => open().isGranted(ref));
  expect(await listAccessObjects(open().stage, main, ref)).toHaveLength(3);
  await withGrantedClient(open().stage, ref, async (holder) => await holder.list(ConfigMap));
}

describe('the process that acts is cut off from the API server', () => {
  it('in the middle of making a machine: the other one goes on, and what arrives late changes nothing', async () => {
    const moment = cutOff('silent', ({ room, name }) => room === 'truenas' && name === 'vm.device.create');
    await open().stage.things.cluster(main);
    const fallen = await moment;
    await expectSuccessor(fallen);
    await eventually('the successor is further on', async () => {
      const [machine] = await open().stage.things.machines(main);
      return machine?.status?.progress?.step.startsWith('await-');
    });
    // What it had sent was on its way for all this time, and its kernel does not forget.
    fallen.network.heal({ stale: true });
    await eventually('the Cluster is ready', () => open().isReady(main));
    const late = open().fencing.takeViolations();
    expect(late.filter((words) => !/PATCH .*\/machines\/[^/]*\/status/.test(words))).toEqual([]);
    const [machine] = await open().stage.things.machines(main);
    const all = open().stage.recorder.values(Machine, { name: machine?.metadata.name ?? '' }, stepOf);
    const steps = all.filter((step) => step !== '');
    expect(steps, 'no step comes back').toEqual([...new Set(steps)]);
    expect(listNasLeftovers(open().stage).filter((trace) => trace.startsWith('VM '))).toHaveLength(1);
    expect(new Set(bootstrappedNodes(open().stage.calls)).size).toBe(1);
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
    const fallen = await eventually('somebody leads', () => open().fencing.leader);
    fallen.network.cut('silent', { to: platform() });
    const ref = await ask('late');
    await expectSuccessor(fallen);
    await expectGranted(ref);
    fallen.network.heal();
  });
});

const stepOf = (machine: Machine): string => machine.status?.progress?.step ?? '';

it('C5, T49: never did two act: nothing was changed by a process that did not hold the Lease at that moment', async () => {
  expect(open().fencing.takeViolations()).toEqual([]);
  expect(open().fencing.holders.length).toBeGreaterThanOrEqual(4);
});

it('who was cut off ended, was started again, and stands by', async () => {
  // Each has a while to end what it was doing.
  const deaths = await eventually('each of them ended', () => {
    const all = open().pods.flatMap((pod) => pod.deaths);
    return all.length >= 3 && all;
  });
  for (const death of deaths) expect(String(death)).toContain('The Lease was lost');
  const standby = open().otherThan(await eventually('somebody leads', () => open().fencing.leader));
  await eventually('it waits', () => standby.lines.at(-1)?.includes('waiting for the leader'));
});
