import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.63' });
const ref = { namespace: 'shop', name: 'web' };

const machines = () => open().objects.machines(ref);
const upToDateOf = ({ status }: Machine) => findFalseCondition(status?.conditions, 'UpToDate');
/** How many Machines are to follow another configuration than these did. */
const countReleased = async (former: readonly Machine[]): Promise<number> =>
  (await machines()).filter(
    ({ metadata, spec }) => former.find((one) => one.metadata.name === metadata.name)?.spec.revision !== spec.revision,
  ).length;
const changeConfig = (patches: readonly object[]) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { talos: { patches } } });
const awaitUpToDate = (what: string) =>
  eventually(
    what,
    async () => {
      const all = await machines();
      return all.length === 2 && all.every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate'));
    },
    200,
  );

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 1, workers: 1 });
  await objects.cluster(ref);
  await awaitUpToDate('it is up to date');
});

it.each([
  ['a kubelet', { machine: { kubelet: { extraArgs: { 'max-pods': 'many' } } } }, 'The kubelet restarts with its new'],
  ['a kube-scheduler', { cluster: { scheduler: { extraArgs: { v: 'loud' } } } }, 'kube-scheduler'],
])('D33: %s that does not start with its new settings holds up the next node', async (_component, patch, why) => {
  const former = await machines();
  await changeConfig([patch]);
  const isWaiting = async () =>
    (await machines()).some((machine) => upToDateOf(machine)?.message?.includes(why) === true);
  await eventually('the first node waits for it', isWaiting, 100);
  await consistently(5, async () => {
    expect(await isWaiting()).toBe(true);
    expect(await countReleased(former)).toBe(1);
  });
  await changeConfig([]);
  await awaitUpToDate('the change is taken back');
});

it('settings that a kubelet and a kube-scheduler start with reach every node', async () => {
  const former = await machines();
  await changeConfig([
    { machine: { kubelet: { extraArgs: { 'max-pods': '200' } } } },
    { cluster: { scheduler: { extraArgs: { v: '4' } } } },
  ]);
  await eventually('a Machine waits', async () => (await machines()).some((machine) => upToDateOf(machine)));
  await awaitUpToDate('every node has them');
  expect(await countReleased(former)).toBe(2);
});
