import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { machineName } from '../../../src/api/names.ts';
import { eventually } from '../../support/eventually.ts';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { identityOnNas } from '../support/access/nas.ts';
import { printMeasurement } from '../support/observation/print-measurement.ts';
import { providerWrites } from '../support/observation/provider-calls.ts';
import { startSchedulingDelay } from '../support/observation/scheduling-delay.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const speed = 60;
const open = startTestbed({ subnet: '127.42.39', speed });
const main = { namespace: 'shop', name: 'main' };
const names = [0, 1, 2].map((slot) => machineName(main, 'cp', slot));
const inSeconds = (seconds: number) => pause((seconds * 1000) / speed);

/** Seconds by the provider's clock until it is so, without scheduling delays. */
async function secondsUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<number> {
  const [start, late] = [performance.now(), startSchedulingDelay()];
  await eventually(what, isSo);
  return ((performance.now() - start) / 1000 - late()) * speed;
}

/** The provider's calls within so many seconds of its clock, by server. */
async function callsIn(seconds: number): Promise<Map<string, InterceptedCall[]>> {
  const { calls } = open();
  const first = calls.length;
  await inSeconds(seconds);
  const made = new Map<string, InterceptedCall[]>();
  for (const call of calls.slice(first)) made.set(call.simulator, [...(made.get(call.simulator) ?? []), call]);
  return made;
}
const namesIn = (calls: readonly InterceptedCall[] = []): string[] =>
  [...new Set(calls.map(({ name }) => name))].sort();
const phaseOf = async (name: string) => (await open().platform.get(Machine, { name })).status?.phase;

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3 });
  await objects.cluster(main);
  await eventually('the Cluster is ready', async () => (await objects.getCluster(main)).status?.phase === 'Ready', 100);
  // Each machine is observed once more at the end.
  await eventually('all is at rest', async () => !(await callsIn(120)).has('talos'), 60);
});

it('P3: an idle cluster costs three observations of its system, and neither calls to others nor writes', async () => {
  const [minutes, late] = [10, startSchedulingDelay()];
  const calls = await callsIn(minutes * 60);
  const missedMinutes = (late() * speed) / 60;
  expect(calls.has('talos')).toBe(false);
  // The provider reopens its watch now and then.
  expect(namesIn(calls.get('workload')).filter((name) => name !== 'GET /api/v1/nodes')).toEqual([]);
  const looks = ['pool.dataset.query', 'pool.query', 'vm.query'];
  const ofNas = calls.get('truenas') ?? [];
  // The ProviderConfig is checked as well, once in ten minutes.
  const schedule = ofNas.filter(({ name }) => looks.includes(name)).length / looks.length;
  expect(schedule).toBeGreaterThan((minutes - missedMinutes) * 1.2);
  expect(schedule).toBeLessThan(minutes * 1.5 + 6);
  expect(providerWrites([...calls.values()].flat())).toEqual([]);
  expect(namesIn(calls.get('kube')).filter((name) => /machines/.test(name))).toEqual([]);
});

it('T9, T43: a machine that is switched off by hand starts again at once, on an event of its system', async () => {
  const [, second = ''] = names;
  const { vmName } = await identityOnNas(open(), second);
  const looks = () => open().calls.filter(({ simulator, name }) => simulator === 'truenas' && name === 'vm.query');
  const seen = looks().length;
  // Right after an observation, so that the next one is as far away as possible.
  await eventually('it was looked at', () => looks().length > seen);
  const late = startSchedulingDelay();
  const [before, last] = [open().calls.length, looks().length - 1];
  await open().world.truenas.powerOff(vmName);
  await eventually('it is looked at', () => looks().length > last + 1);
  const [one, other] = looks().slice(last, last + 2);
  const waited = (((other?.at.getTime() ?? Number.NaN) - (one?.at.getTime() ?? 0)) / 1000 - late()) * speed;
  printMeasurement('switched off', { waited });
  // Without an event the next observation comes forty seconds after the last one, and later on a busy machine.
  expect(waited).toBeLessThan(39);
  const isStarted = () =>
    open()
      .calls.slice(before)
      .some(({ simulator, name }) => simulator === 'truenas' && name === 'vm.start');
  await eventually('it is started', isStarted);
  await eventually('it is ready again', async () => (await phaseOf(second)) === 'Ready');
});

it('T42: a change without an event is noticed within a minute', async () => {
  open().world.truenas.setPoolStatus('tank', 'DEGRADED');
  const told = async () => {
    const { items } = await open().platform.list(Machine);
    return items.filter(({ status }) => /tank is DEGRADED/.test(status?.message ?? '')).length;
  };
  const waited = await secondsUntil('it is told', async () => (await told()) === names.length);
  printMeasurement('degraded', { waited });
  // A minute, and the time of the work itself.
  expect(waited).toBeLessThan(60 + 10);
  open().world.truenas.setPoolStatus('tank', 'ONLINE');
  await eventually('all is well', async () => (await told()) === 0);
});

it('a cluster whose node is no longer ready is asked directly, and its answer is reported', async () => {
  const [, , third = ''] = names;
  const node = open()
    .world.machines.nodes()
    .find(({ hostname }) => hostname === third);
  const before = open().calls.length;
  open().world.machines.reboot(node?.name ?? '');
  const isAsked = () =>
    open()
      .calls.slice(before)
      .some(({ simulator }) => simulator === 'talos');
  await eventually('it is asked', isAsked);
  await eventually('it is ready again', async () => (await phaseOf(third)) === 'Ready');
});
