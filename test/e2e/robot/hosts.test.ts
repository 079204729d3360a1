import { expect, it } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const [first, second] = [3140011, 3140012] as const;
const open = startTestbed({
  subnet: '127.42.143',
  timeScale: 0.01,
  speed: 50,
  seeds: { robot: { network: '127.42.144', servers: [{ number: first }, { number: second }] } },
});
const shop: NamespacedRef = { namespace: 'shop', name: 'bare' };
let robot: RobotTestObjects;

prepareTestbed(open, async (testbed) => {
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  await robot.host(first, { maintenance: true });
  await robot.host(second, { expect: { product: 'another one' } });
  await robot.config('metal');
});

const named = (number: number) => ({ name: `server-${number}` });
const conditionOf = async (number: number, type: string) =>
  (await robot.getHost(number)).status?.conditions.find((one) => one.type === type);
const stateOf = async (number: number) => (await robot.getHost(number)).status?.state;
const bootsOf = (number: number) =>
  open()
    .world.robot.servers()
    .find((one) => one.number === number)?.bootCount ?? 0;
const theMachine = async (): Promise<Machine | undefined> => (await open().objects.machines(shop))[0];

it('a Cluster waits for a suitable Host, and counts the reasons against each', async () => {
  await eventually('the Hosts were looked at', async () => (await stateOf(second)) === 'Failed');
  await open().objects.cluster(shop, { config: 'metal' });
  const says = async () => (await theMachine())?.status?.message ?? '';
  await eventually('the Machine says why', async () => (await says()).includes('1 in maintenance'));
  expect(await says()).toContain('1 failed');
});

it('the hardware of a server is inspected on request, and nothing is written to it', async () => {
  await open().objects.annotate(Host, named(first), { [annotations.inspect]: '' });
  await eventually('it was inspected', async () => (await conditionOf(first, 'Inspected'))?.status === 'True', 90);
  const { status, metadata } = await robot.getHost(first);
  expect(status?.hardware?.disks).not.toEqual([]);
  expect(status).toMatchObject({ state: 'Maintenance' });
  expect(metadata.annotations?.[annotations.inspect]).toBeUndefined();
  expect(open().world.robot.writes(first)).toEqual([]);
  expect(bootsOf(second)).toBe(1);
});

it('P40: a waiting Machine gets a Host as soon as one is available', async () => {
  await open().platform.merge(Host, named(first), { spec: { maintenance: false } });
  await eventually('it is claimed', async () => (await robot.getHost(first)).status?.machineRef !== undefined);
  const isReady = async () => (await open().objects.getCluster(shop)).status?.phase === 'Ready';
  await eventually('the cluster is ready', isReady, 150);
});

it('H13: a server in use is rebooted on request', async () => {
  const boots = bootsOf(first);
  await open().objects.annotate(Host, named(first), { [annotations.reboot]: '' });
  await eventually('it was rebooted', async () => (await conditionOf(first, 'Rebooted'))?.status === 'True', 60);
  await eventually('it has booted once more', () => bootsOf(first) > boots);
});

it('a Host needs approval after its Machine was deleted by force', async () => {
  const { provider, objects } = open();
  await provider.stop();
  const { name } = (await theMachine())?.metadata ?? { name: '' };
  await objects.removeByForce(name);
  // The node still runs, and may write to its own disk.
  const foreignWrites = () =>
    open()
      .world.robot.writes(first)
      .filter(({ by }) => by !== 'talos');
  const [boots, writes] = [bootsOf(first), foreignWrites()];
  provider.start();
  await eventually('it has failed', async () => (await stateOf(first)) === 'Failed');
  expect((await robot.getHost(first)).metadata.annotations?.[annotations.permanentError]).toContain(name);
  const waits = async () => (await theMachine())?.status?.message?.includes('No Host is available') ?? false;
  await eventually('the new Machine gets no Host', waits);
  expect([bootsOf(first), foreignWrites()]).toEqual([boots, writes]);
  await objects.remove(Cluster, shop);
  await eventually('the cluster is gone', async () => !(await objects.exists(Cluster, shop)), 60);
});
