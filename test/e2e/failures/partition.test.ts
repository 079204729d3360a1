import { describe, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { ConfigMap, listAccessObjects, withGrantedClient } from '../support/access/workload-cluster.ts';
import { printMeasurement } from '../support/observation/print-measurement.ts';
import { bootstrappedNodes, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import type { NetworkFault } from '../support/provider-process/simulated-network.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

const leaseSeconds = 6;
/**
 * The longest time without a leader. The last renewal may arrive a third of a lease after the cut; a successor polls
 * every 2/15 of a lease, and has to see no renewal for a whole lease.
 */
const mostSeconds = leaseSeconds * (1 / 3 + 2 / 15 + 1 + 2 / 15);
const main = { namespace: 'shop', name: 'main' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

const open = startReplicaTestbed({ subnet: '127.42.120', speed: 10 }, (testbed) =>
  Promise.all(
    ['a', 'b'].map((name, i) => InProcessReplica.open(testbed, { name, address: `127.42.121.${i + 1}`, leaseSeconds })),
  ),
);

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
  },
);

const platform = (): RegExp => new RegExp(`:${new URL(open().testbed.world.platform?.line.url ?? '').port}$`);

/** Waits until the leader is in the middle of such a call, and cuts it off from the platform there. */
function cutOff(problem: NetworkFault, isMoment: (call: InterceptedCall) => boolean): Promise<InProcessReplica> {
  return new Promise((resolve) => {
    const off = open().testbed.world.switchboard.onCall((call) => {
      const pod = open().fencing.podOf(call);
      if (!pod || pod !== open().fencing.leader || !isMoment(call)) return;
      off();
      pod.network.cut(problem, { to: platform() });
      resolve(pod);
    });
  });
}

/** Expects the other pod to take over in time, and to continue the work. */
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
  await open().testbed.objects.request(ref, { clusterRef: main, token: { permissions: [{ rules }] } });
  return ref;
}

/** Expects that a request is granted exactly once, and that its access works. */
async function expectGranted(ref: NamespacedRef): Promise<void> {
  await eventually(`${ref.name} is granted`, () => open().isGranted(ref));
  expect(await listAccessObjects(open().testbed, main, ref)).toHaveLength(3);
  await withGrantedClient(open().testbed, ref, async (holder) => await holder.list(ConfigMap));
}

describe('the leader is cut off from the API server', () => {
  it('in the middle of a machine creation: the other pod continues, and late calls change nothing', async () => {
    const moment = cutOff('silent', ({ simulator, name }) => simulator === 'truenas' && name === 'vm.device.create');
    await open().testbed.objects.cluster(main);
    const fallen = await moment;
    await expectSuccessor(fallen);
    await eventually('the successor is further on', async () => {
      const [machine] = await open().testbed.objects.machines(main);
      return machine?.status?.progress?.step.startsWith('await-');
    });
    // Its data was in transit for all this time, and its kernel still retransmits.
    fallen.network.heal({ stale: true });
    await eventually('the Cluster is ready', () => open().isReady(main));
    const late = open().fencing.takeViolations();
    expect(late.filter((words) => !/PATCH .*\/machines\/[^/]*\/status/.test(words))).toEqual([]);
    const [machine] = await open().testbed.objects.machines(main);
    const all = open().testbed.recorder.values(Machine, { name: machine?.metadata.name ?? '' }, stepOf);
    const steps = all.filter((step) => step !== '');
    expect(steps, 'no step comes back').toEqual([...new Set(steps)]);
    expect(listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('VM '))).toHaveLength(1);
    expect(new Set(bootstrappedNodes(open().testbed.calls)).size).toBe(1);
  });

  it('in the middle of a grant, and its requests arrive while the answers are lost', async () => {
    const moment = cutOff(
      'deaf',
      ({ simulator, name }) => simulator === 'workload' && /^POST .*\/clusterroles$/.test(name),
    );
    const ref = await ask('deaf');
    const fallen = await moment;
    await expectSuccessor(fallen);
    await expectGranted(ref);
    fallen.network.heal();
  });

  it('while idle: the other pod handles later changes', async () => {
    const fallen = await eventually('somebody leads', () => open().fencing.leader);
    fallen.network.cut('silent', { to: platform() });
    const ref = await ask('late');
    await expectSuccessor(fallen);
    await expectGranted(ref);
    fallen.network.heal();
  });
});

const stepOf = (machine: Machine): string => machine.status?.progress?.step ?? '';

it('C5, T49: no two pods ever acted at once: every change came from the holder of the Lease at that moment', async () => {
  expect(open().fencing.takeViolations()).toEqual([]);
  expect(open().fencing.holders.length).toBeGreaterThanOrEqual(4);
});

it('the pod that was cut off exited, was started again, and stands by', async () => {
  // Each pod has a grace period to finish its work.
  const deaths = await eventually('each of them ended', () => {
    const all = open().pods.flatMap((pod) => pod.deaths);
    return all.length >= 3 && all;
  });
  for (const death of deaths) expect(String(death)).toContain('The Lease was lost');
  const standby = open().otherThan(await eventually('somebody leads', () => open().fencing.leader));
  await eventually('it waits', () => standby.lines.at(-1)?.includes('waiting for the leader'));
});
