import { expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { deletionsSince, phasesSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const numbers = [1, 2, 3, 4].map((n) => 3140500 + n);
const open = startTestbed({
  subnet: '127.42.222',
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: { network: '127.42.223', servers: numbers.map((number) => ({ number })), limits: { 'POST /reset': 500 } },
  },
});
const bare: NamespacedRef = { namespace: 'shop', name: 'bare' };
let robot: RobotTestObjects;

const machines = () => open().objects.machines(bare);
const hostStates = async () =>
  await Promise.all(numbers.map(async (number) => (await robot.getHost(number)).status?.state ?? ''));

prepareTestbed(open, async (testbed) => {
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const number of numbers) await robot.host(number);
  await robot.config('metal', { controlPlanes: 3, workers: 1 });
  await testbed.objects.cluster(bare, { config: 'metal' });
  const isReady = async () => (await testbed.objects.getCluster(bare)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isReady, 170);
});

it('a cluster of bare servers shrinks, gives its Hosts back, and keeps the one that its endpoint names', async () => {
  const { status } = await open().objects.getCluster(bare);
  const address = new URL(status?.apiServer ?? '').hostname;
  const holder = (await machines()).find((machine) => machine.status?.address === address)?.metadata.name ?? '';
  await open().objects.annotate(Machine, { name: holder }, { [annotations.deleteFirst]: 'true' });
  const since = new Date();
  await open().platform.merge(
    ProviderConfig,
    { name: 'metal' },
    { spec: { controlPlane: { replicas: 1 }, workerPools: [] } },
  );
  await eventually('one is left', async () => (await machines()).length === 1, 170);
  expect((await machines()).map(({ metadata }) => metadata.name)).toEqual([holder]);
  expect(deletionsSince(open(), since).names).not.toContain(holder);
  const versions = open()
    .recorder.of(Cluster, bare)
    .filter(({ at }) => at >= since);
  const notes = versions.flatMap(({ object }) => object.status?.conditions?.map(({ message }) => message) ?? []);
  expect(notes.some((message) => message?.includes(`${holder} stays: its address is the endpoint`))).toBe(true);
  expect(phasesSince(open(), bare, since)).toEqual(['Ready']);
  await eventually('three Hosts are available', async () => {
    const states = await hostStates();
    return states.filter((state) => state === 'Available').length === 3;
  });
  expect((await hostStates()).filter((state) => state === 'Provisioned')).toHaveLength(1);
  expect((await open().objects.getCluster(bare)).status?.phase).toBe('Ready');
});
