import { expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { annotations } from '../../../src/api/names.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.219' });
const refs = Array.from({ length: 10 }, (_, i): NamespacedRef => ({ namespace: 'shop', name: `c${i}` }));
const home = { name: 'home' };
const [some = { namespace: '', name: '' }] = refs;

/** A value that no node takes while {@link wrong} is the one that the ProviderConfig has. */
const wrong = '192.0.2.66';
/** The nodes that were to take it. */
const reached = new Set<string>();

const machines = () => open().objects.machines();
const conditionOf = async (ref: NamespacedRef) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'UpToDate');
const rolloutOf = async () => (await open().objects.getConfig('home')).status?.rollout;
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, home, { spec });
const changeTime = (server: string) => changeConfig({ network: { timeServers: [server] } });
const annotate = (type: typeof Cluster | typeof ProviderConfig, ref: { name: string }, value: string | null) =>
  open().objects.annotate(type, ref, { [annotations.rollout]: value });
const isUpToDate = ({ status }: Pick<Machine, 'status'>) => isConditionTrue(status?.conditions, 'UpToDate');

/** How often a node was changed, by cluster. */
async function countUpdates(): Promise<Map<string, number>> {
  const { items } = await open().platform.list(Event, {});
  const counts = new Map<string, number>();
  for (const { reason, involvedObject, count = 1 } of items) {
    const name = String(involvedObject.name).split('-')[0] ?? '';
    if (reason === 'Updated') counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}
const totalOf = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, count) => sum + count, 0);

/** Every cluster has the given reason, and its message fits. Returns the clusters without it. */
const othersThan = async (reason: string, message: RegExp) => {
  const found = await Promise.all(refs.map(conditionOf));
  return refs.filter((_, i) => found[i]?.reason !== reason || !message.test(found[i]?.message ?? ''));
};
const allFollow = async (server: string) =>
  await eventually(
    `every node has ${server}`,
    async () => {
      const rollout = await rolloutOf();
      return (await machines()).every(isUpToDate) && rollout?.updated === refs.length && rollout.failed === 0;
    },
    200,
  );

prepareTestbed(open, async ({ objects, world }) => {
  world.switchboard.judge((call, content) => {
    if (!call.name.endsWith('/ApplyConfiguration') || !holdsWrongValue(content)) return undefined;
    reached.add(JSON.stringify(call.detail));
    return { kind: 'error', code: 'InvalidArgument', body: 'the time server is not taken' };
  });
  await objects.credentials();
  await objects.config('home', { change: (spec) => Object.assign(spec, { rollout: { maxClusters: 5 } }) });
  for (const ref of refs) await objects.cluster(ref);
  const allReady = async () => (await othersThan('AsExpected', /^$/)).length === 0;
  await eventually('every cluster is up to date', allReady, 200);
});

const holdsWrongValue = (content: unknown): boolean =>
  typeof content === 'object' &&
  content !== null &&
  'data' in content &&
  content.data instanceof Uint8Array &&
  // Only the change itself is refused: a dry run that was refused would reach no node at all.
  !('dryRun' in content && content.dryRun === true) &&
  Buffer.from(content.data).includes(wrong);

it('D30: a wrong change over ten clusters reaches one node, and the others name it', async () => {
  await changeTime(wrong);
  const waiting = /Cluster shop\/c\d of the same ProviderConfig stopped at machine c\d-/;
  const first = await eventually(
    'nine clusters wait for the first',
    async () => {
      const rest = await othersThan('UpdatePending', waiting);
      return rest.length === 1 && rest[0];
    },
    150,
  );
  expect(await conditionOf(first)).toMatchObject({
    status: 'False',
    reason: 'UpdateFailed',
    message: expect.stringMatching(/^1 of 1 machines are not up to date\. c\d-.*-cp-0: .*rollout: retry/),
  });
  expect(reached.size).toBe(1);
  await eventually('the ProviderConfig counts it', async () => (await rolloutOf())?.failed === 1);
  expect(await rolloutOf()).toMatchObject({ total: 10, updated: 0, failed: 1 });
});

it('a provider that was away in the middle goes on as before', async () => {
  await open().provider.stop();
  open().provider.start();
  await annotate(ProviderConfig, home, 'retry');
  const isGone = async () => (await open().objects.getConfig('home')).metadata.annotations?.[annotations.rollout];
  await eventually('the retry has begun', async () => (await isGone()) === undefined, 100);
  await eventually('it has failed again', async () => (await rolloutOf())?.failed === 1, 100);
  const { items } = await open().platform.list(Event, {});
  expect(items.some(({ reason }) => reason === 'UpdateRetried')).toBe(true);
  expect(reached.size).toBe(1);
});

it('a corrected change reaches every cluster, the one that had failed too', async () => {
  await changeTime('192.0.2.1');
  await allFollow('192.0.2.1');
  expect(reached.size).toBe(1);
  const counts = await countUpdates();
  expect(counts.size).toBe(10);
  expect(totalOf(counts)).toBe(10);
});

it('a change that is taken back in the middle is taken back where it was made, and nowhere else', async () => {
  const before = await countUpdates();
  await changeConfig({ rollout: { maxClusters: 1 } });
  await changeTime('192.0.2.2');
  await eventually('the first is changed', async () => totalOf(await countUpdates()) > totalOf(before), 100);
  await changeTime('192.0.2.1');
  await allFollow('192.0.2.1');
  const changed = [...(await countUpdates())].filter(([name, count]) => count !== before.get(name));
  expect(changed.length).toBeLessThan(5);
  await changeConfig({ rollout: { maxClusters: 5 } });
});

it('a pause of the ProviderConfig holds every cluster up, and an unknown value none', async () => {
  const before = totalOf(await countUpdates());
  await annotate(ProviderConfig, home, 'pause');
  await changeTime('192.0.2.3');
  await eventually(
    'every cluster waits',
    async () => (await othersThan('RolloutPaused', /ProviderConfig home is pause/)).length === 0,
    100,
  );
  expect(totalOf(await countUpdates())).toBe(before);
  await annotate(ProviderConfig, home, 'stop');
  await allFollow('192.0.2.3');
  await eventually('it is named', async () => {
    const { status } = await open().objects.getConfig('home');
    const valid = status?.conditions?.find(({ type }) => type === 'ConfigValid');
    return valid?.status === 'True' && /"stop" is unknown/.test(valid.message);
  });
  await annotate(ProviderConfig, home, null);
});

it('D30: changes wait for a window, unless a user says now', async () => {
  const hour = (plus: number) => new Date(Date.now() + plus * 3_600_000).toISOString().slice(11, 16);
  await changeConfig({ rollout: { windows: [{ from: hour(3), to: hour(4) }] } });
  await changeTime('192.0.2.4');
  const waiting = /The next window of spec\.rollout\.windows begins at 20.*Z\.$/;
  await eventually('all wait', async () => (await othersThan('OutsideWindow', waiting)).length === 0, 100);
  const before = await countUpdates();
  await annotate(Cluster, some, 'now');
  await eventually('one is changed', async () => (await conditionOf(some))?.status === 'True', 100);
  await eventually('and has its annotation no longer', async () => {
    const { metadata } = await open().objects.getCluster(some);
    return metadata.annotations?.[annotations.rollout] === undefined;
  });
  expect(totalOf(await countUpdates())).toBe(totalOf(before) + 1);
  await changeConfig({ rollout: { windows: [] } });
  await allFollow('192.0.2.4');
  expect(open().faults()).toEqual([]);
});
