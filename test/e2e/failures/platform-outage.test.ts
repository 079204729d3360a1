import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { truenasCredentialsName } from '../support/objects/test-objects.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startReplicaTestbed({ subnet: '127.42.40', speed: 20 }, async (testbed) => [
  await InProcessReplica.open(testbed, { name: 'talos-0', address: '127.42.41.1', hasteOfDeadlines: 5 }),
]);
const ref = { namespace: 'shop', name: 'steady' };
const objects = () => open().testbed.objects;

const cluster = async () => (await objects().getCluster(ref)).status;
const machines = async () => await objects().machines(ref);
const config = async () => (await objects().getConfig('home')).status?.conditions;
const events = async (kind: string, reason: string): Promise<string[]> => {
  const { items } = await open().testbed.platform.list(Event, {});
  return items.filter((one) => one.involvedObject.kind === kind && one.reason === reason).map(({ message }) => message);
};
const reasonsOfHealth = async () =>
  (await machines()).map(({ status }) => findFalseCondition(status?.conditions, 'Healthy')?.reason);

prepareTestbed(
  () => open().testbed,
  async () => {
    await objects().credentials();
    await objects().config('home', { controlPlanes: 3 });
    await objects().cluster(ref);
    await eventually('it is ready', () => open().isReady(ref), 100);
  },
);

async function expectServing(): Promise<void> {
  expect((await machines()).map(({ status }) => isConditionTrue(status?.conditions, 'Ready'))).toEqual([
    true,
    true,
    true,
  ]);
  const { phase, conditions } = (await cluster()) ?? {};
  expect([phase, isConditionTrue(conditions, 'Ready'), isConditionTrue(conditions, 'MachinesReady')]).toEqual([
    'Ready',
    true,
    true,
  ]);
}

it('a silent NAS leaves a working cluster ready, and the failure is reported where it belongs', async () => {
  open().pod.network.cut('refused', { to: new RegExp(`:${new URL(open().testbed.world.truenas.line.url).port}$`) });
  await eventually('each Machine says so', async () =>
    (await reasonsOfHealth()).every((reason) => reason === 'PlatformUnreachable'),
  );
  await eventually(
    'the ProviderConfig says so',
    async () => findFalseCondition(await config(), 'CredentialsValid')?.reason === 'PlatformUnreachable',
  );
  await expectServing();
  await eventually('it is an Event', async () => (await events('ProviderConfig', 'PlatformUnreachable')).length === 1);
  expect(open().pod.tail()).toContain('ProviderConfig is not ready');
  open().pod.network.heal();
  await eventually('it is over', async () => isConditionTrue(await config(), 'Ready'));
  await eventually('the Machines are well', async () =>
    (await reasonsOfHealth()).every((reason) => reason === undefined),
  );
  await eventually('the end is an Event', async () =>
    (await events('ProviderConfig', 'Ready')).some((text) => text.includes('PlatformUnreachable')),
  );
  expect(open().pod.tail()).toContain('ProviderConfig is ready again');
  await expectServing();
});

it.each([
  [
    'missing',
    'CREDENTIALS_MISSING',
    async () => await objects().remove(Secret, { namespace: open().testbed.namespace, name: truenasCredentialsName }),
  ],
  [
    'without its key',
    'PlatformRejected',
    async () => await objects().credentials(truenasCredentialsName, { username: 'root' }),
  ],
])('a Secret of the NAS that is %s leaves it ready, too', async (_, reason, spoil) => {
  await spoil();
  await eventually('the ProviderConfig says so', async () => findFalseCondition(await config(), 'CredentialsValid'));
  await eventually('each Machine says so', async () => (await reasonsOfHealth()).every((one) => one === reason));
  await expectServing();
  await objects().credentials();
  await eventually(
    'it is over',
    async () => (await reasonsOfHealth()).every((one) => one === undefined) && isConditionTrue(await config(), 'Ready'),
  );
});

it('a bridge that the NAS does not have is rejected at the ProviderConfig, and no machine needs a change for it', async () => {
  const bridge = async (name: string) =>
    await open().testbed.platform.merge(ProviderConfig, { name: 'home' }, { spec: { truenas: { bridge: name } } });
  await bridge('br9');
  await eventually('it is refused', async () =>
    /truenas\.bridge: .*br9/.test(findFalseCondition(await config(), 'CredentialsValid')?.message ?? ''),
  );
  // 60 s for the controllers: longer than the time between two observations of a machine.
  await consistently(3, async () => {
    expect(await reasonsOfHealth()).toEqual([undefined, undefined, undefined]);
  });
  await expectServing();
  expect(JSON.stringify((await cluster())?.conditions)).not.toContain('br9');
  await bridge('br0');
  await eventually('it is accepted again', async () => isConditionTrue(await config(), 'Ready'));
});
