import { expect, it } from 'vitest';
import { Host } from '../../../src/api/host.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const network = '127.42.140';
const [first, second, files] = [3140011, 3140012, 3140014] as const;
const open = startTestbed({
  subnet: '127.42.139',
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: {
      network,
      servers: [
        { number: first, name: 'rack-7' },
        { number: second },
        { number: files, name: 'files', disks: [{ content: { kind: 'linux', hostname: 'files', answersSsh: true } }] },
      ],
    },
  },
});
const shop: NamespacedRef = { namespace: 'shop', name: 'bare' };
let robot: RobotTestObjects;

prepareTestbed(open, async (testbed) => {
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const number of [first, second]) await robot.host(number);
  await robot.config('metal', { workers: 1 });
});

const stateOf = async (number: number) => (await robot.getHost(number)).status?.state;

it('Hosts are observed without a change of their servers', async () => {
  await eventually(
    'both are available',
    async () => (await stateOf(first)) === 'Available' && (await stateOf(second)) === 'Available',
  );
  expect(
    open()
      .world.robot.servers()
      .map(({ bootCount }) => bootCount),
  ).toEqual([1, 1, 1]);
});

it('H1: bare servers become a Talos cluster', async () => {
  await open().objects.cluster(shop, { config: 'metal' });
  const isReady = async () => (await open().objects.getCluster(shop)).status?.phase === 'Ready';
  await eventually('the cluster is ready', isReady, 150);
  const { robot: simulator } = open().world;
  expect(simulator.servers().map(({ number, phase }) => [number, phase])).toEqual([
    [first, 'talos'],
    [second, 'talos'],
    [files, 'linux'],
  ]);
  const names = simulator.servers().map(({ name }) => name);
  expect(names).toEqual([expect.stringMatching(/^cpt\./), expect.stringMatching(/^cpt\./), 'files']);
  expect([await stateOf(first), await stateOf(second)]).toEqual(['Provisioned', 'Provisioned']);
});

it('and free servers again, with nothing of ours on them', async () => {
  await open().objects.remove(Cluster, shop);
  await eventually('the cluster is gone', async () => !(await open().objects.exists(Cluster, shop)), 150);
  expect([await stateOf(first), await stateOf(second)]).toEqual(['Available', 'Available']);
  const { robot: simulator } = open().world;
  expect(simulator.servers().map(({ name }) => name)).toEqual(['rack-7', '', 'files']);
  expect(simulator.servers().map(({ armed }) => armed)).toEqual([undefined, undefined, undefined]);
});

it('no other disk was written to, no forbidden call was made, and no secret appears anywhere', async () => {
  const { robot: simulator } = open().world;
  expect(simulator.writes(files)).toEqual([]);
  expect(simulator.forbiddenCalls()).toEqual([]);
  expect(simulator.lockouts()).toEqual([]);
  expect(open().faults()).toEqual([]);
  expect(findSecretLeaks(open())).toEqual([]);
  await open().objects.remove(Host, { name: `server-${first}` });
  await eventually('the Host is gone', async () => !(await open().objects.exists(Host, { name: `server-${first}` })));
});
