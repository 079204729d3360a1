import { expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { KillInjector } from '../fault-sweep/kill-injector.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.13' });
const ref = { namespace: 'shop', name: 'web' };

const machines = () => open().objects.machines(ref);
const upToDateOf = ({ status }: Pick<Machine, 'status'>) => findFalseCondition(status?.conditions, 'UpToDate');
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const cordoned = () =>
  withAdminClient(open(), ref, async (admin) =>
    (await admin.list(KubeNode)).items.filter(({ spec }) => spec?.unschedulable).map(({ metadata }) => metadata.name),
  );
const talosCalls = (name: RegExp) =>
  open().calls.filter((call) => call.simulator === 'talos' && name.test(call.name)).length;

const awaitUpToDate = (what: string, check: (machine: Machine) => boolean = () => true) =>
  eventually(
    what,
    async () =>
      (await machines()).every(
        (machine) => isConditionTrue(machine.status?.conditions, 'UpToDate') && check(machine),
      ) && (await cordoned()).length === 0,
    200,
  );

async function awaitFailure(reason: string): Promise<{ name: string; message: string }> {
  return await eventually(
    reason,
    async () => {
      const failed = (await machines()).find((machine) => upToDateOf(machine)?.reason === reason);
      return failed && { name: failed.metadata.name, message: upToDateOf(failed)?.message ?? '' };
    },
    120,
  );
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 1, workers: 2 });
  await objects.cluster(ref);
  await awaitUpToDate('it is up to date');
});

it('another extension alone upgrades the nodes to another boot image of the same version', async () => {
  const before = (await machines())[0]?.status?.applied?.schematic;
  await changeConfig({ talos: { extensions: ['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools'] } });
  await awaitUpToDate('every node has it', ({ status }) => status?.applied?.schematic !== before);
  const found = new Set((await machines()).map(({ status }) => status?.applied?.schematic));
  expect([found.size, [...found][0]?.length]).toEqual([1, 64]);
});

it('D32: a change that needs a restart drains and restarts one node at a time', async () => {
  let mostAway = 0;
  const look = (): void => {
    const away = open()
      .world.machines.nodes()
      .filter(({ ready }) => !ready).length;
    mostAway = Math.max(mostAway, away);
  };
  const timer = setInterval(look, 5);
  const reboots = talosCalls(/Reboot$/);
  await changeConfig({ talos: { patches: [{ machine: { env: { http_proxy: 'http://192.0.2.9:3128' } } }] } });
  await eventually('a Machine waits for it', async () => (await machines()).some((one) => upToDateOf(one)));
  await awaitUpToDate('every node has restarted');
  clearInterval(timer);
  expect(talosCalls(/Reboot$/) - reboots).toBe(3);
  expect(mostAway).toBe(1);
});

it('names an installer image that is not there, and has disturbed no node', async () => {
  const { missingImages } = open().world.machines;
  missingImages.add('v1.13.8');
  const drains = (await open().platform.list(Event, {})).items.length;
  await changeConfig({ talos: { version: '1.13.8' } });
  const { message } = await awaitFailure('UpdateFailed');
  expect(message).toMatch(/^Runs Talos 1\.13\.9 and is to run 1\.13\.8\..*nocloud-installer.*v1\.13\.8/);
  expect(await cordoned()).toEqual([]);
  expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
  expect((await open().platform.list(Event, {})).items.length).toBeGreaterThan(drains);
  await changeConfig({ talos: { version: '1.13.9' } });
  await awaitUpToDate('the change is taken back');
  missingImages.clear();
});

it('D25: a node that falls back is reported, is not tried again, and stops the rollout', async () => {
  const { brokenSystems } = open().world.machines;
  brokenSystems.set('1.13.8', 'ends');
  await changeConfig({ talos: { version: '1.13.8' } });
  const { name, message } = await awaitFailure('UpgradeFellBack');
  expect(message).toMatch(/did not start with Talos 1\.13\.8 and has gone back to 1\.13\.9/);
  const upgrades = talosCalls(/LifecycleService\/Upgrade$/);
  const { status } = await open().objects.getCluster(ref);
  expect(status?.conditions?.find(({ type }) => type === 'UpToDate')).toMatchObject({
    message: expect.stringContaining(name),
  });
  expect(talosCalls(/LifecycleService\/Upgrade$/)).toBe(upgrades);
  await changeConfig({ talos: { version: '1.13.9' } });
  await awaitUpToDate('the change is taken back', (machine) => machine.status?.applied?.talosVersion === '1.13.9');
  brokenSystems.clear();
});

it('D26: an upgrade ends well with a provider that is killed at each kind of call', async () => {
  const injector = new KillInjector(open());
  const struck = new Set<string>();
  const stop = open().world.switchboard.judge(({ simulator, name }) => {
    const isEffect =
      simulator === 'talos' ? /Pull$|Upgrade$|Reboot$|ApplyConfiguration$/ : /eviction|PATCH .*\/nodes\//;
    if (!['talos', 'workload'].includes(simulator) || !isEffect.test(name)) return undefined;
    const kind = `${simulator} ${name.replace(/\/nodes\/.*/, '/nodes')}`;
    if (struck.has(kind)) return undefined;
    struck.add(kind);
    return injector.strike();
  });
  await changeConfig({ talos: { version: '1.13.8', patches: [] } });
  await awaitUpToDate('every node runs it', ({ status }) => status?.applied?.talosVersion === '1.13.8');
  stop();
  await injector.settled();
  expect([...struck].filter((name) => name.startsWith('talos')).length).toBeGreaterThanOrEqual(4);
  expect(open().faults()).toEqual([]);
});

it('a change that is taken back in the middle ends with the former state, and with no node cordoned', async () => {
  await changeConfig({ talos: { version: '1.13.9' } });
  await eventually(
    'an installer has written the other slot',
    async () =>
      (await machines()).some(({ status }) => String(status?.progress?.facts['updateSystemWritten'] ?? '') !== ''),
    100,
  );
  await changeConfig({ talos: { version: '1.13.8' } });
  await awaitUpToDate('all is as before', ({ status }) => status?.applied?.talosVersion === '1.13.8');
  const versions = open()
    .world.machines.nodes()
    .map(({ version }) => version);
  expect(versions).toEqual(versions.map(() => '1.13.8'));
});
