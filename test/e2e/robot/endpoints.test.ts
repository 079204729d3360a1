import { expect, it } from 'vitest';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const [network, subnet] = ['127.42.145', '127.42.146'];
const failover = '127.42.146.250';
const numbers = [1, 2, 3, 4, 5, 6].map((n) => 3140300 + n);
const open = startTestbed({
  subnet,
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: {
      network,
      servers: numbers.map((number) => ({ number })),
      accounts: [{ failovers: [{ ip: failover, server: numbers[0], active: null }] }],
      limits: { 'POST /reset': 500 },
    },
  },
});
const inside: NamespacedRef = { namespace: 'shop', name: 'inside' };
const led: NamespacedRef = { namespace: 'shop', name: 'led' };
let robot: RobotTestObjects;

const isReady = async (ref: NamespacedRef) => (await open().objects.getCluster(ref)).status?.phase === 'Ready';
const serverOf = (number: number) => {
  const found = open()
    .world.robot.servers()
    .find((one) => one.number === number);
  if (!found) throw new RangeError(`no server ${number}`);
  return found;
};

prepareTestbed(open, async (testbed) => {
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const [index, number] of numbers.entries()) await robot.host(number, {}, { rack: index < 3 ? 'a' : 'b' });
  const inRack = (rack: string) => [{ name: 'small', hostSelector: { matchLabels: { rack } } }];
  await robot.config('inside', {
    controlPlanes: 3,
    change: (spec) => {
      Object.assign(spec.hetznerRobot ?? {}, { sizes: inRack('a'), vswitch: { name: 'talos', vlan: 4007 } });
      Object.assign(spec.network, {
        ...{ addressPool: [`${subnet}.10-${subnet}.40`], prefix: 24, ipv6: { subnet: 'fd00:10::/64' } },
        ...{ podSubnets: ['10.244.0.0/16', 'fd00:1::/56'], serviceSubnets: ['10.96.0.0/12', 'fd00:2::/112'] },
      });
    },
  });
  await robot.config('led', {
    controlPlanes: 3,
    change: (spec) => Object.assign(spec.hetznerRobot ?? {}, { sizes: inRack('b'), failoverAddress: failover }),
  });
  await testbed.objects.cluster(inside, { config: 'inside' });
  await testbed.objects.cluster(led, { config: 'led' });
  await eventually('both are ready', async () => (await isReady(inside)) && (await isReady(led)), 200);
});

it('H26: a virtual address inside a vSwitch: nodes are members, and hold it there', async () => {
  const [vswitch] = open().world.robot.robot.accounts[0]!.vswitches.values();
  expect(vswitch).toMatchObject({ name: 'talos', vlan: 4007 });
  const { status } = await open().objects.getCluster(inside);
  expect(JSON.stringify(status?.endpoints)).toMatch(new RegExp(`https://${subnet.replaceAll('.', '\\.')}\\.\\d+:6443`));
});

it('dual stack inside a vSwitch: nodes have an address of each family there, IPv4 first', async () => {
  const nodes = (await withAdminClient(open(), inside, (admin) => admin.list(KubeNode))).items;
  expect(nodes).toHaveLength(3);
  for (const { status } of nodes)
    expect(status?.addresses?.filter(({ type }) => type === 'InternalIP').map(({ address }) => address)).toEqual([
      expect.stringMatching(/^127\.42\.146\.\d+$/),
      expect.stringMatching(/^fd00:10::7f2a:92[0-9a-f]{2}$/),
    ]);
});

it('a failover address points to a control plane, and to another one after the loss of the first', async () => {
  const { status } = await open().objects.getCluster(led);
  expect(JSON.stringify(status?.endpoints)).toContain(`https://${failover}:6443`);
  const activeOf = () => [...open().world.robot.robot.accounts[0]!.failovers.values()][0]?.active;
  const before = activeOf();
  const holder = numbers.find((number) => serverOf(number).address === before) ?? 0;
  expect(numbers.slice(3)).toContain(holder);
  open().world.robot.server(holder).machine.cut();
  await eventually('it is led elsewhere', () => activeOf() !== before, 100);
  const other = numbers.find((number) => serverOf(number).address === activeOf());
  expect(numbers.slice(3)).toContain(other);
  const kubeSystem = () => withAdminClient(open(), led, (admin) => admin.get(Namespace, { name: 'kube-system' }));
  await eventually('the API server answers again', async () => (await kubeSystem()) !== undefined);
});
