import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** Deadlines of steps are dates. */
const wallClock = new WallClock();
const open = startTestbed({ subnet: '127.42.232' });
const refs = ['first', 'second'].map((name) => ({ namespace: 'shop', name }));

const upToDateOf = async (ref: { namespace: string; name: string }) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const changeTalos = (version: string) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { talos: { version } } });
const nodes = () => open().world.machines.nodes();
const away = () => nodes().filter(({ ready }) => !ready);
const countUpgrades = () => open().calls.filter(({ name }) => name.endsWith('LifecycleService/Upgrade')).length;
const runs =
  (version: string) =>
  ({ status }: Machine): boolean =>
    status?.applied?.talosVersion === version && isConditionTrue(status.conditions, 'UpToDate');

prepareTestbed(open, async ({ objects, provider }) => {
  await provider.stop();
  wallClock.within(() => provider.start());
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3 });
  for (const ref of refs) await objects.cluster(ref);
  for (const ref of refs)
    await eventually(`${ref.name} is up to date`, async () => (await upToDateOf(ref))?.status === 'True', 150);
});

it('a control plane that does not come back stops the rollout of its cluster and of the ProviderConfig', async () => {
  open().world.machines.brokenSystems.set('1.13.8', 'hangs');
  await changeTalos('1.13.8');
  await eventually('a node hangs', () => nodes().some(({ stuck }) => stuck?.includes('1.13.8')), 100);
  wallClock.set(1);
  const failed = await eventually(
    'its Machine has failed',
    async () => {
      const all = await open().objects.machines();
      return all.find(({ status }) => findFalseCondition(status?.conditions, 'UpToDate')?.reason === 'UpdateFailed');
    },
    100,
  );
  const { name } = failed.metadata;
  const others = new RegExp(`^.*Cluster shop/\\w+ of the same ProviderConfig stopped at machine ${name}\\.`);
  await eventually('both clusters name it', async () => {
    const conditions = await Promise.all(refs.map(upToDateOf));
    const own = conditions.find((one) => one?.reason === 'UpdateFailed');
    const other = conditions.find((one) => one?.reason === 'UpdatePending');
    return (
      own?.message.includes(`${name}: `) && own.message.includes('rollout: retry') && others.test(other?.message ?? '')
    );
  });
  await eventually('the ProviderConfig counts it', async () => {
    const { status } = await open().objects.getConfig('home');
    return status?.rollout?.failed === 1;
  });
  await consistently(3, () => {
    expect(
      away()
        .map(({ hostname }) => hostname)
        .join(),
    ).toMatch(/^[^,]*$/);
    expect(countUpgrades()).toBe(1);
  });
});

it('goes on when the node has been brought back', async () => {
  open().world.machines.brokenSystems.clear();
  const hung = nodes().find(({ stuck }) => stuck !== undefined)?.name ?? '';
  await open().world.truenas.powerOff(hung.replace(/^\d+_/, ''));
  await eventually(
    'every node runs it',
    async () => {
      expect(away().length).toBeLessThanOrEqual(1);
      return (await open().objects.machines()).every(runs('1.13.8'));
    },
    200,
  );
  expect(countUpgrades()).toBe(6);
});
