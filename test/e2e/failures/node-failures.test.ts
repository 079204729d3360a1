import { expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { eventually } from '../../support/eventually.ts';
import { killVm, vmNameOf } from '../../world/truenas/vm/vm-runtime.ts';
import { identityOnNas } from '../support/access/nas.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/**
 * The simulators and the controllers have the same time, so that Kubernetes notices a failure as late as in production:
 * 40 s after it. With less frequent observation, the awaited events came after 45 s and more.
 */
const speed = 20;
const open = startTestbed({ subnet: '127.42.195', timeScale: 1 / speed, speed, provider: { leaseSeconds: 20 } });
const ref = { namespace: 'shop', name: 'sturdy' };
const lone = { namespace: 'shop', name: 'lone' };
const [controlPlane, worker] = [machineName(ref, 'cp', 2), machineName(ref, 'work', 0)];

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, workers: 1, pool: [10, 49] });
  await objects.config('small', { pool: [50, 59] });
  await objects.cluster(ref);
  await objects.cluster(lone, { config: 'small' });
  for (const one of [ref, lone])
    await eventually('it is ready', async () => (await objects.getCluster(one)).status?.phase === 'Ready', 120);
});

/** Ends the process of the virtual machine, as the hypervisor does when it runs out of memory. */
async function kill(machine: string): Promise<void> {
  const { nas } = open().world.truenas;
  const { vmName } = await identityOnNas(open(), machine);
  const vm = [...nas.vms.values()].find((one) => vmNameOf(one) === vmName);
  if (!vm) throw new Error(`there is no virtual machine ${vmName}`);
  await killVm(nas, vm);
}

it.each([
  ['a worker', worker],
  ['a control plane', controlPlane],
])(
  '%s that was killed is reported, started again, and ready when its own components have reported after this boot',
  async (_, name) => {
    const { recorder } = open();
    const versions = () => recorder.of(Machine, { name });
    const [before, killedAt, late] = [versions().length, Date.now(), startSchedulingDelay()];
    const { vmName } = await identityOnNas(open(), name);
    const nodeOf = () =>
      open()
        .world.machines.nodes()
        .find((one) => one.name.endsWith(`_${vmName}`));
    await kill(name);
    const isReady = ({ status }: Machine): boolean => isConditionTrue(status?.conditions, 'Ready');
    const fell = await recorder.until('it is not ready', () =>
      versions()
        .slice(before)
        .find(({ object }) => !isReady(object)),
    );
    expect((fell.at.getTime() - killedAt) / 1000).toBeLessThan(38 / speed + late());
    let node = nodeOf();
    await recorder.until(
      'it is ready again',
      () => {
        const last = recorder.last(Machine, { name });
        node = nodeOf();
        return last && isReady(last) ? true : undefined;
      },
      60,
    );
    expect(node).toMatchObject({ stage: 'running', ready: true, registered: true });
    const turns = recorder.values(Machine, { name }, isReady);
    expect(turns.slice(-3)).toEqual([true, false, true]);
    const events = await eventually('it is told', () => {
      const all = recorder.events({ kind: 'Machine', name });
      return all.some((one) => one.startsWith('Recovered')) ? all : undefined;
    });
    expect(events).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^PoweredOff: The machine is powered off\. Automatically it is started again\.$/),
        expect.stringMatching(/^Degraded: /),
        expect.stringMatching(/^Recovered: /),
      ]),
    );
    expect(events.filter((one) => one.startsWith('Joined'))).toHaveLength(1);
    const lines = open().logLines.filter((line) => line.includes(`"${name}"`));
    expect(lines.some((line) => line.includes('is not ready any more'))).toBe(true);
    expect(lines.some((line) => line.includes('is ready again'))).toBe(true);
  },
);

it('a cluster is ready as soon as its only API server is back after a restart', async () => {
  const { recorder, world } = open();
  const { vmName } = await identityOnNas(open(), machineName(lone, 'cp', 0));
  const nodeOf = () => world.machines.nodes().find((one) => one.name.endsWith(`_${vmName}`));
  const before = recorder.of(Cluster, lone).length;
  await world.machines.crashApiServer(nodeOf()?.name ?? '');
  const since = () => recorder.of(Cluster, lone).slice(before);
  await recorder.until(
    'it is missed',
    () => since().some(({ object }) => object.status?.phase !== 'Ready') || undefined,
  );
  await eventually('it has ended', () => nodeOf()?.ready === false || undefined);
  await eventually('it is back', () => nodeOf()?.ready || undefined);
  const [back, late] = [performance.now(), startSchedulingDelay()];
  await recorder.until('it is ready', () => recorder.last(Cluster, lone)?.status?.phase === 'Ready' || undefined);
  expect((performance.now() - back) / 1000).toBeLessThan(30 / speed + late());
});

it('a node whose boot hangs before it has its configuration is power-cycled', async () => {
  const { objects, world, recorder, platform } = open();
  const late = { namespace: 'shop', name: 'late' };
  world.switchboard.fail('boot', /^acquire$/, { kind: 'drop' });
  await objects.cluster(late, { config: 'small' });
  const name = machineName(late, 'cp', 0);
  const stepOf = () => recorder.last(Machine, { name })?.status?.progress?.step;
  await recorder.until('it is awaited', () => stepOf() === 'await-talos-api' || undefined);
  const hangs = () => world.machines.nodes().some(({ stuck: stalled }) => stalled?.startsWith('downloading config'));
  await eventually('its boot hangs', () => hangs() || undefined);
  // Timestamps keep real time.
  const since = new Date(Date.now() - 10 * 60_000).toISOString();
  await platform.merge(Machine, { name }, { status: { progress: { since } } }, { subresource: 'status' });
  await eventually('it is ready', async () => (await objects.getCluster(late)).status?.phase === 'Ready', 90);
  const last = recorder.last(Machine, { name });
  expect(last?.status?.progress?.facts).toMatchObject({ powerCycles: 1 });
  const messages = recorder.of(Machine, { name }).map(({ object }) => object.status?.message ?? '');
  expect(messages.filter((message) => /power-cycled once .* console/.test(message))).not.toEqual([]);
  expect(open().logLines.some((line) => line.includes('its machine is power-cycled'))).toBe(true);
});
