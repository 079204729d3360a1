import { describe, expect, it } from 'vitest';
import { EtcdMemberAlarm_AlarmType as AlarmType } from '../../../../src/talos/gen/machine_pb.ts';
import { openKube } from '../testing/kube-access.ts';
import { awaitEtcdRunning, messageOfRejection, startTestCluster } from '../testing/test-cluster.ts';

/** A control plane and another node, both ready. */
async function startPair(role: 'controlplane' | 'worker') {
  const one = await startTestCluster('one');
  const two = one.add('two', { role });
  const { world } = one;
  const client = await one.client();
  await world.until('the bootstrap', () => world.during(client.machine.bootstrap({})));
  for (const name of ['one', 'two']) await world.until(`${name} to be ready`, () => world.runner.node(name)?.ready);
  /** Cuts the power of the control plane. */
  const cut = async () => {
    one.running.kill();
    await one.running.exited;
  };
  return { world, cut, one: client, node: await two.client(), two, kube: await openKube(one.address) };
}

interface NodeObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly unschedulable?: boolean };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}
interface PodObject {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: NodeObject['status'];
}

describe('a worker that goes down', () => {
  it('by a call is cordoned and drained first, and uncordoned when it is back; the power button drains nothing', async () => {
    const { world, node, two, kube } = await startPair('worker');
    const state = async () => {
      const { metadata, spec, status } = (await kube('GET', '/api/v1/nodes/two')) as NodeObject;
      const ready = status.conditions.find(({ type }) => type === 'Ready')?.status;
      return { ready, cordoned: spec.unschedulable === true, own: metadata.annotations?.['talos.dev/cordoned'] };
    };
    const pods = async () => {
      const { items } = (await kube('GET', '/api/v1/namespaces/kube-system/pods')) as { items: PodObject[] };
      const here = items.filter(({ spec }) => spec.nodeName === 'two');
      const isReady = ({ status }: PodObject) =>
        status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
      return here.map((pod) => `${pod.metadata.name.split('-')[0]} ${isReady(pod)}`).sort();
    };
    const running = ['coredns true', 'coredns true', 'kube true', 'kube true'];
    await world.until('all pods', async () => (await pods()).join() === running.join());

    const off = () => world.until('two to be off', () => world.runner.node('two')?.stage === 'off');
    await node.machine.shutdown({});
    await off();
    expect(await state()).toEqual({ ready: 'False', cordoned: true, own: 'true' });
    expect(await pods(), 'those of DaemonSets stay').toEqual(['kube false', 'kube false']);
    await two.again();
    await world.until('the Node', async () => (await state()).ready === 'True');
    expect(await state()).toEqual({ ready: 'True', cordoned: false, own: undefined });
    await world.until('all pods', async () => (await pods()).join() === running.join());

    two.running.pressPowerButton();
    await off();
    expect(await pods()).toEqual(running.map((pod) => pod.replace('true', 'false')));
  });

  it('does not shut down while it cannot be cordoned, unless it is forced', async () => {
    const { world, node, cut } = await startPair('worker');
    await cut();
    await node.machine.shutdown({});
    await world.until('the failure', () =>
      world.runner.node('two')?.console.some((line) => line.includes('failed to wait for the node to be cordoned')),
    );
    await node.machine.shutdown({ force: true });
    await world.until('two to be off', () => world.runner.node('two')?.stage === 'off');
  });
});

describe('etcd of two control planes', () => {
  it('moves its leader, reports alarms, and keeps the legacy upgrade off', async () => {
    const { world, one, node } = await startPair('controlplane');
    await awaitEtcdRunning(world, node.machine);
    const leader = async () => (await one.machine.etcdStatus({})).messages[0]?.memberStatus?.leader;
    const before = await world.until('a voter', async () => {
      const { members = [] } = (await one.machine.etcdMemberList({})).messages[0] ?? {};
      return members.length === 2 && members.every(({ isLearner }) => !isLearner) && (await leader());
    });
    expect((await node.machine.etcdForfeitLeadership({})).messages[0]?.member, 'it does not lead').toBe('');
    expect((await one.machine.etcdForfeitLeadership({})).messages[0]?.member).toBe('two');
    expect(await leader()).not.toBe(before);

    world.runner.raiseEtcdAlarm('two', 'NOSPACE');
    const alarms = async () => (await one.machine.etcdAlarmList({})).messages[0]?.memberAlarms ?? [];
    expect(await alarms()).toMatchObject([{ alarm: AlarmType.NOSPACE }]);
    expect((await one.machine.etcdStatus({})).messages[0]?.memberStatus).toMatchObject({
      protocolVersion: '3.6.12',
      errors: [expect.stringContaining('alarm:NOSPACE')],
    });
    await one.machine.etcdAlarmDisarm({});
    expect(await alarms()).toEqual([]);

    const image = `${world.factory.place}/nocloud-installer/${'a'.repeat(64)}:v1.13.8`;
    expect(await messageOfRejection(world.during(one.machine.upgrade({ image })))).toBe(
      'Unknown: error validating etcd for upgrade: etcd member count(2) is insufficient to maintain quorum if upgrade commences',
    );
  });
});
