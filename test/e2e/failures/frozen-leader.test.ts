import { expect, it } from 'vitest';
import { consistently, eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { listAccessObjects } from '../support/access/workload-cluster.ts';
import { bootstrappedNodes, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { createChildProcessReplica, type ProviderReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

/** A Lease of fifteen seconds lasts a little less than four here. */
const speed = 4;
const main = { namespace: 'shop', name: 'main' };
const more = { namespace: 'shop', name: 'more' };
const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];

const open = startReplicaTestbed({ subnet: '127.42.122', speed }, async (testbed) =>
  ['a', 'b'].map((name, i) => createChildProcessReplica(testbed, { name, address: `127.42.107.${i + 1}`, speed })),
);

prepareTestbed(
  () => open().testbed,
  async ({ objects }) => {
    await objects.credentials();
    await objects.config('home', { controlPlanes: 1 });
  },
);

/** Waits until the leader makes such a call, and freezes the leader: the answer arrives while it is frozen. */
function freeze(isMoment: (call: InterceptedCall) => boolean): Promise<ProviderReplica> {
  return new Promise((resolve) => {
    const off = open().testbed.world.switchboard.onCall((call) => {
      const pod = open().fencing.podOf(call);
      if (!pod || pod !== open().fencing.leader || !isMoment(call)) return;
      off();
      pod.signal('SIGSTOP');
      resolve(pod);
    });
  });
}

/**
 * Thaws the former leader after its successor has taken over. It must change nothing: it exits and is started again.
 */
async function wake(sleeper: ProviderReplica): Promise<void> {
  const successor = open().otherThan(sleeper);
  await eventually('the other one leads', () => open().fencing.leader === successor);
  const before = open().fencing.changesOf(successor);
  await eventually('it works', () => open().fencing.changesOf(successor) > before);
  const deaths = sleeper.deaths.length;
  sleeper.signal('SIGCONT');
  await eventually('it ends', () => sleeper.deaths.length > deaths);
  expect(open().fencing.takeViolations()).toEqual([]);
}

/** The nth such call to the NAS. */
function onNas(name: string, nth: number): (call: InterceptedCall) => boolean {
  let left = nth;
  return (call) => {
    if (call.simulator === 'truenas' && call.name === name) left -= 1;
    return left === 0;
  };
}

it.each([
  // The second query is that of the image copy, which runs beside the steps. The next call would create a dataset.
  { moment: 'it started the copy of the boot image', cluster: main, name: 'pool.dataset.query', nth: 2 },
  // The next call would write to the status of the Machine.
  { moment: 'it created a VM', cluster: more, name: 'vm.create', nth: 1 },
])('a process that was frozen while $moment changes nothing after it thaws', async ({ cluster, name, nth }) => {
  const frozen = freeze(onNas(name, nth));
  await open().testbed.objects.cluster(cluster);
  await wake(await frozen);
});

it('nor does one that was frozen in the middle of a grant', async () => {
  await eventually('the Clusters are ready', async () => (await open().isReady(main)) && (await open().isReady(more)));
  const frozen = freeze(({ simulator, name }) => simulator === 'workload' && /^POST .*\/serviceaccounts$/.test(name));
  await open().testbed.objects.request(main, { clusterRef: main, token: { permissions: [{ rules }] } });
  await wake(await frozen);
});

it('in the end everything exists exactly once', async () => {
  await eventually('access is granted', () => open().isGranted(main));
  expect(await listAccessObjects(open().testbed, main, main)).toHaveLength(3);
  expect(listNasLeftovers(open().testbed).filter((fingerprint) => fingerprint.startsWith('VM '))).toHaveLength(2);
  expect(new Set(bootstrappedNodes(open().testbed.calls)).size).toBe(2);
  await consistently(1, () => expect(open().fencing.takeViolations()).toEqual([]));
});
