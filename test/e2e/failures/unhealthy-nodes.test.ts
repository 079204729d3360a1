import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { identityOnNas } from '../support/access/nas.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** Times of waiting are dates. */
const wallClock = new WallClock();
const open = startTestbed({ subnet: '127.42.241' });
const ref = { namespace: 'shop', name: 'ill' };
const lone = { namespace: 'shop', name: 'lone' };
const nameOf = (pool: string, slot: number, of: NamespacedRef = ref) => machineName(of, pool, slot);
const [first, second] = [nameOf('work', 0), nameOf('work', 1)];

const change = (remediation: object) =>
  open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { remediation } });
const isReady = ({ status }: Machine) => isConditionTrue(status?.conditions, 'Ready');
const machine = async (name: string) =>
  (await open().objects.machines()).find(({ metadata }) => metadata.name === name);
const healthOf = async (name: string) =>
  (await machine(name))?.status?.conditions?.find(({ type }) => type === 'NodeHealthy');
const conditionOf = async (of = ref) =>
  (await open().objects.getCluster(of)).status?.conditions?.find(({ type }) => type === 'NodesHealthy');
const events = (reason: string, of = ref): readonly string[] =>
  open()
    .recorder.events({ kind: 'Cluster', name: of.name })
    .filter((one) => one.startsWith(`${reason}: `));
/** The restarts and replacements that the Cluster records, as `action machine`. */
async function records(of = ref): Promise<readonly string[]> {
  const { status } = await open().objects.getCluster(of);
  const found = (status?.providerStatus?.['remediation'] ?? []) as { action: string; machine: string }[];
  return found.map((one) => `${one.action} ${one.machine}`);
}
const countStops = () => open().calls.filter(({ name }) => name === 'vm.stop').length;

/** Its kernel hangs while TrueNAS shows that it runs. */
async function hang(name: string, isBroken = false): Promise<void> {
  const { vmName } = await identityOnNas(open(), name);
  const node = open()
    .world.machines.nodes()
    .find((one) => one.name.endsWith(`_${vmName}`));
  open().world.machines.hang(node?.name ?? '', isBroken);
}

/** Lets minutes pass for the dates of the provider. */
let minutes = 0;
function pass(more: number): void {
  minutes += more;
  wallClock.set(minutes / 60);
}

/** Until the cluster and the node itself are seen to be silent. */
const awaitUnhealthy = (name: string) =>
  eventually(`${name} is unhealthy`, async () => (await healthOf(name))?.status === 'False', 150);
const awaitHealthy = (of = ref) =>
  eventually('every node is healthy', async () => (await conditionOf(of))?.status === 'True', 200);
const awaitReason = (reason: string, message: RegExp) =>
  eventually(
    reason,
    async () => {
      const condition = await conditionOf();
      return condition?.reason === reason && message.test(condition.message);
    },
    100,
  );

prepareTestbed(open, async ({ objects, provider }) => {
  await provider.stop();
  wallClock.within(() => provider.start());
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 2 });
  await objects.config('small', { controlPlanes: 1, pool: [60, 69] });
  await objects.cluster(ref);
  await objects.cluster(lone, { config: 'small' });
  for (const one of [ref, lone])
    await eventually('it is ready', async () => (await objects.getCluster(one)).status?.phase === 'Ready', 120);
  await eventually('every Machine is ready', async () => (await objects.machines()).every(isReady), 60);
});

it('D41, D44: a node that hangs is restarted after five minutes, and not before', async () => {
  await hang(first);
  await awaitUnhealthy(first);
  expect(await healthOf(first)).toMatchObject({ reason: 'NodeUnreachable' });
  await awaitReason(
    'RemediationPending',
    new RegExp(`^1 of 5 nodes is unhealthy\\. ${first}: .* has not been ready since`),
  );
  await consistently(3, () => expect([countStops(), events('NodeRestarted')]).toEqual([0, []]));
  pass(6);
  await awaitReason('Remediating', new RegExp(`${first} is being restarted`));
  await awaitHealthy();
  expect(events('NodeRestarted')).toEqual([expect.stringContaining(`The node ${first} is unhealthy, and its machine`)]);
  expect(events('NodeRecovered')).toHaveLength(1);
  expect(countStops()).toBe(1);
  expect((await machine(first))?.spec.remediation).toBeUndefined();
});

it('D48: a machine in maintenance is left alone', async () => {
  const mark = (value: string | null) =>
    open().platform.merge(
      Machine,
      { name: second },
      { metadata: { annotations: { [annotations.maintenance]: value } } },
    );
  await mark('true');
  await hang(second);
  await awaitUnhealthy(second);
  pass(90);
  await awaitReason('RemediationStopped', /annotation maintenance/);
  expect(await records()).toHaveLength(1);
  await mark(null);
  await awaitHealthy();
  expect(await records()).toEqual([`Restart ${first}`, `Restart ${second}`]);
});

it('D42: two of two workers are not restarted, and one is with the annotation', async () => {
  pass(90);
  await hang(first);
  await hang(second);
  await awaitUnhealthy(first);
  await awaitUnhealthy(second);
  pass(6);
  await awaitReason('RemediationPending', /2 of 2 nodes of the pool work are unhealthy, more than the 1/);
  expect(await records()).toHaveLength(2);
  const metadata = { annotations: { [annotations.remediate]: 'restart' } };
  await open().platform.merge(Machine, { name: first }, { metadata });
  await eventually('it is healthy', async () => (await healthOf(first))?.status === 'True', 100);
  expect((await machine(first))?.metadata.annotations?.[annotations.remediate]).toBeUndefined();
  await awaitHealthy();
  expect((await records()).slice(2)).toEqual([`Restart ${first}`, `Restart ${second}`]);
});

it('D44: a machine that does not come back is left to a user, and replaced if that is wanted', async () => {
  pass(90);
  await hang(first, true);
  await awaitUnhealthy(first);
  pass(6);
  await awaitReason('Remediating', new RegExp(`${first} is being restarted`));
  await eventually(
    'it was',
    async () => (await machine(first))?.status?.progress?.facts['restartedFor'] !== undefined,
    60,
  );
  pass(13);
  await awaitReason('RemediationStopped', /Restarts did not help\. .*Delete the Machine/);
  await change({ strategy: 'Replace' });
  await eventually('it is replaced', async () => (await machine(first)) === undefined, 200);
  await awaitHealthy();
  expect(events('NodeReplaced')).toHaveLength(1);
  const names = (await open().objects.machines(ref)).map(({ metadata }) => metadata.name);
  expect(names.filter((name) => name.includes('-work-'))).toEqual([second, nameOf('work', 2)]);
});

it('D44: a control plane that does not come back is replaced, and etcd keeps its quorum', async () => {
  const name = nameOf('cp', 1);
  const uid = (await machine(name))?.metadata.uid;
  await hang(name);
  await awaitUnhealthy(name);
  pass(90);
  await eventually('it is restarted', async () => (await records()).at(-1) === `Restart ${name}`, 60);
  await awaitHealthy();
  pass(20);
  await hang(name, true);
  await awaitUnhealthy(name);
  pass(6);
  await eventually(
    'another takes its place',
    async () => {
      const found = await machine(name);
      return found !== undefined && found.metadata.uid !== uid;
    },
    200,
  );
  expect((await records()).at(-1)).toBe(`Replace ${name}`);
  await eventually('it is ready', async () => (await open().objects.machines(ref)).every(isReady), 200);
  await awaitHealthy();
  expect(open().world.machines.bootstraps()).toBe(2);
});

it('D43: without the API server nothing is done, and it is said that nothing is known', async () => {
  const name = nameOf('cp', 0, lone);
  const cuts = countStops();
  await hang(name);
  await eventually('nothing is known', async () => (await healthOf(name))?.status === 'Unknown', 150);
  pass(90);
  await eventually('it is reported', async () => (await conditionOf(lone))?.status === 'Unknown', 60);
  await consistently(3, () => expect([countStops(), events('NodeRestarted', lone)]).toEqual([cuts, []]));
  expect(findFalseCondition((await machine(name))?.status?.conditions, 'Joined')).toBeDefined();
});
