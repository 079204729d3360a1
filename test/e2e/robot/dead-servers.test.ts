import { expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Host } from '../../../src/api/host.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations, labels, machineName } from '../../../src/api/names.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Lease } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const numbers = [1, 2, 3].map((n) => 3140600 + n);
const wallClock = new WallClock();
const open = startTestbed({
  subnet: '127.42.242',
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: { network: '127.42.243', servers: numbers.map((number) => ({ number })), limits: { 'POST /reset': 500 } },
  },
});
const bare: NamespacedRef = { namespace: 'shop', name: 'bare' };
const worker = machineName(bare, 'work', 0);
const successor = machineName(bare, 'work', 1);
let robot: RobotTestObjects;

const machine = async (name: string): Promise<Machine | undefined> =>
  (await open().objects.machines(bare)).find(({ metadata }) => metadata.name === name);
const isReady = (one: Machine | undefined) => isConditionTrue(one?.status?.conditions, 'Ready');
const nodesHealthy = async () =>
  (await open().objects.getCluster(bare)).status?.conditions?.find(({ type }) => type === 'NodesHealthy');
const numberOf = async (name: string) => Number((await machine(name))?.status?.progress?.facts['server']);
const serverOf = async (name: string) => open().world.robot.server(await numberOf(name));
const resetsOf = () => open().calls.filter(({ name }) => name.startsWith('POST /reset/')).length;
const hoursFromNow = (hours: number) => wallClock.set(hours);

prepareTestbed(open, async (testbed) => {
  await testbed.provider.stop();
  wallClock.within(() => testbed.provider.start());
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const number of numbers) await robot.host(number);
  await robot.config('metal', { controlPlanes: 1, workers: 1 });
  await testbed.platform.merge(ProviderConfig, { name: 'metal' }, { spec: { remediation: { strategy: 'Replace' } } });
  await testbed.objects.cluster(bare, { config: 'metal' });
  await eventually(
    'every Machine is ready',
    async () => (await testbed.objects.getCluster(bare)).status?.phase === 'Ready' && isReady(await machine(worker)),
    170,
  );
});

async function awaitUnhealthy(): Promise<void> {
  const health = async () => (await machine(worker))?.status?.conditions?.find(({ type }) => type === 'NodeHealthy');
  await eventually('it is unhealthy', async () => (await health())?.status === 'False', 120);
}

it('D44: a server that hangs is reset, and serves again', async () => {
  const before = resetsOf();
  (await serverOf(worker)).machine.hang();
  await awaitUnhealthy();
  expect(resetsOf()).toBe(before);
  hoursFromNow(0.2);
  await eventually('it was reset', () => resetsOf() === before + 1, 100);
  await eventually('it is healthy', async () => (await nodesHealthy())?.status === 'True', 150);
  expect(resetsOf()).toBe(before + 1);
  expect(isReady(await machine(worker))).toBe(true);
});

it('D46: a dead server is reset twice, another one takes its place, and its Host is kept out of use', async () => {
  hoursFromNow(2);
  const [before, number] = [resetsOf(), await numberOf(worker)];
  const { machine: server } = await serverOf(worker);
  const written = open().world.robot.writes(number).length;
  server.box.board.isDead = true;
  server.hang();
  await awaitUnhealthy();
  for (const [hours, resets] of [
    [2.2, 1],
    [2.5, 2],
  ] as const) {
    hoursFromNow(hours);
    await eventually(`it was reset ${resets} times`, () => resetsOf() === before + resets, 100);
    await eventually('that is recorded', async () => {
      const { spec, status } = (await machine(worker)) ?? {};
      return status?.progress?.facts['restartedFor'] === spec?.remediation?.requestedAt;
    });
  }
  hoursFromNow(2.8);
  await eventually('its successor serves', async () => isReady(await machine(successor)), 170);
  expect(await numberOf(successor)).not.toBe(number);
  let hours = 2.8;
  await eventually(
    'it is let go',
    async () => {
      // Each reset is given ten minutes.
      hours += 0.05;
      hoursFromNow(hours);
      return (await machine(worker)) === undefined;
    },
    200,
  );
  const host = await robot.getHost(number);
  expect(host.metadata.annotations?.[annotations.permanentError]).toMatch(
    /could not be erased .*RescueSilent.*spec\.wipe/,
  );
  await eventually('it is out of use', async () => (await robot.getHost(number)).status?.state === 'Failed');
  expect((await robot.getHost(number)).status?.machineRef).toBeUndefined();
  expect(open().world.robot.writes(number)).toHaveLength(written);
  const { items } = await open().platform.list(Lease, { labelSelector: labels.address });
  expect(items.map(({ spec }) => spec?.holderIdentity)).not.toContain(`machine/${worker}`);
});

it('D46: it is used again when a user says so', async () => {
  const number = numbers.find((one) => open().world.robot.server(one).machine.box.board.isDead) ?? 0;
  open().world.robot.server(number).machine.box.board.isDead = false;
  await open().platform.merge(
    Host,
    { name: `server-${number}` },
    { spec: { wipe: true }, metadata: { annotations: { [annotations.permanentError]: null } } },
  );
  await eventually('it is available', async () => (await robot.getHost(number)).status?.state === 'Available', 60);
});
