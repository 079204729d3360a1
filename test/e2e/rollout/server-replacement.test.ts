import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import { RobotTestObjects } from '../support/objects/robot-test-objects.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const numbers = [1, 2, 3].map((n) => 3140700 + n);
const [first = 0, second = 0, third = 0] = numbers;
const open = startTestbed({
  subnet: '127.42.227',
  timeScale: 0.01,
  speed: 50,
  seeds: {
    robot: { network: '127.42.228', servers: numbers.map((number) => ({ number })), limits: { 'POST /reset': 500 } },
  },
});
const bare: NamespacedRef = { namespace: 'shop', name: 'bare' };
let robot: RobotTestObjects;

const workers = async () => (await open().objects.machines(bare)).filter(({ spec }) => spec.role === 'worker');
const isReady = ({ status }: Machine) => isConditionTrue(status?.conditions, 'Ready');
const setTaint = (value: string) =>
  open().platform.merge(
    ProviderConfig,
    { name: 'metal' },
    {
      spec: {
        workerPools: [
          { name: 'work', replicas: 1, size: 'small', taints: [{ key: 'gpu', value, effect: 'NoSchedule' }] },
        ],
      } as object,
    },
  );
const isOther = async (uid: string | undefined) => {
  const found = await workers();
  const [machine] = found;
  return found.length === 1 && machine && machine.metadata.uid !== uid && isReady(machine);
};

prepareTestbed(open, async (testbed) => {
  robot = await RobotTestObjects.on(testbed);
  await robot.credentials();
  for (const number of [first, second]) await robot.host(number);
  await robot.config('metal', { controlPlanes: 1, workers: 1 });
  await testbed.objects.cluster(bare, { config: 'metal' });
  const isClusterReady = async () => (await testbed.objects.getCluster(bare)).status?.phase === 'Ready';
  await eventually('the Cluster is ready', isClusterReady, 170);
});

it('D39: a server is given back and taken again, if no other Host is left', async () => {
  const [before] = await workers();
  await setTaint('one');
  await eventually('the new one waits for a Host', async () =>
    (await workers()).some(
      ({ status }) => findFalseCondition(status?.conditions, 'Provisioned')?.reason === 'HostShort',
    ),
  );
  await eventually('it is another', () => isOther(before?.metadata.uid), 170);
});

it('D39: another server comes first, if there is a Host for it', async () => {
  const [before] = await workers();
  await robot.host(third);
  await eventually('it is available', async () => (await robot.getHost(third)).status?.state === 'Available', 100);
  await setTaint('two');
  let isInterrupted = false;
  await eventually(
    'it is another',
    async () => {
      isInterrupted ||= !(await workers()).some(isReady);
      return await isOther(before?.metadata.uid);
    },
    170,
  );
  expect(isInterrupted).toBe(false);
  expect((await robot.getHost(third)).status?.state).toBe('Provisioned');
});
