import { mkdtempSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../world/truenas/index.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

/** The NAS that is lost. */
let west: TrueNasSimulator;
const folder = mkdtempSync(join(tmpdir(), 'west-'));
const open = startReplicaTestbed({ subnet: '127.42.35', speed: 20 }, async (testbed) => {
  const { clock, switchboard, machines: runner } = testbed.world;
  west = await startTrueNasSimulator({ host: '127.42.36.10', port: 0, folder, clock, switchboard, runner, extra: {} });
  return [await InProcessReplica.open(testbed, { name: 'talos-0', address: '127.42.35.201', hasteOfDeadlines: 5 })];
});
afterAll(async () => {
  await west?.close();
  await rm(folder, { recursive: true, force: true });
});

const ref = { namespace: 'shop', name: 'spread' };
const [home, worker] = [{ name: 'home' }, { name: machineName(ref, 'work', 0) }];
const objects = () => open().testbed.objects;
const find = () => open().testbed.platform.find(Machine, worker);
const messages = async (reason: string): Promise<string[]> => {
  const { items } = await open().testbed.platform.list(Event, { namespace: 'default' });
  return items.filter((event) => event.reason === reason).map(({ message }) => message);
};
const orphans = async () => (await objects().getConfig('home')).status?.orphans ?? [];
const isReady = async () => (await objects().getCluster(ref)).status?.phase === 'Ready';

let systems: { name: string }[];
const list = async (names: readonly string[]) => {
  const named = systems.filter(({ name }) => names.includes(name));
  await open().testbed.platform.merge(ProviderConfig, home, { spec: { truenas: { systems: named } } });
};

prepareTestbed(
  () => open().testbed,
  async (testbed) => {
    const at = async (
      name: string,
      { line: { url, ca, credentials } }: TrueNasSimulator | typeof testbed.world.truenas,
    ) => {
      await testbed.objects.credentials(name, {
        username: credentials['user'] ?? '',
        apiKey: credentials['apiKey'] ?? '',
      });
      return {
        name,
        url,
        caBundle: await readFile(ca ?? '', 'utf8'),
        credentialsRef: { name },
        pool: 'tank',
        bridge: 'br0',
      };
    };
    systems = [await at('east', testbed.world.truenas), await at('west', west)];
    await testbed.objects.config('home', {
      workers: 1,
      change: (spec) => {
        const { sizes } = spec.truenas;
        spec.truenas = { sizes, systems } as unknown as typeof spec.truenas;
      },
    });
    await eventually('it is published', async () => (await objects().getConfig('home')).status?.phase === 'Ready');
    await testbed.objects.cluster(ref);
    await eventually('it is ready', isReady, 100);
    expect((await find())?.spec.failureDomain).toBe('west');
  },
);

it('approval of the loss of a failure domain is without effect as long as the NAS answers', async () => {
  await objects().annotate(Machine, worker, { [annotations.failureDomainLost]: 'true' });
  const before = (await find())?.metadata.uid;
  await objects().remove(Machine, worker);
  await eventually('it was made anew', async () => {
    const now = await find();
    return now && now.metadata.uid !== before && now.status?.phase === 'Ready';
  });
  expect([west.nas.vms.size, await messages('GivenUp')]).toEqual([1, []]);
});

it('the approval releases a Machine on a system that is gone for good, and changes nothing there', async () => {
  const before = (await find())?.metadata;
  open().pod.network.cut('refused', { to: new RegExp(`:${new URL(west.line.url).port}$`) });
  await objects().remove(Machine, worker);
  await eventually('it cannot', async () => /Tried [3-9]/.test((await find())?.status?.message ?? ''));
  await consistently(0.5, async () => expect((await find())?.metadata.uid).toBe(before?.uid));
  await list(['east']);
  await objects().annotate(Machine, worker, { [annotations.failureDomainLost]: 'true' });
  await eventually('there is another', async () => {
    const now = await find();
    return now && now.metadata.uid !== before?.uid;
  });
  expect(await messages('GivenUp')).toEqual([
    expect.stringMatching(/Possibly left there: system .*, vm .*, dataset .*address .* claimed/),
  ]);
  expect(west.nas.vms.size).toBe(1);
});

it('its successor waits while the machine that was given up still runs at its address', async () => {
  const told = await eventually('it waits', async () => {
    const { message = '' } = (await find())?.status ?? {};
    return message.includes('is truenas://') && message;
  });
  const [east, lost] = [open().testbed.world.truenas, west].map(({ line }) => new URL(line.url).host);
  expect(told).toMatch(new RegExp(`is truenas://${lost}/.* and not truenas://${east}/.*Power that machine off`));
  expect((await find())?.status?.phase).not.toBe('Ready');
  for (const { row } of west.nas.vms.values()) await west.powerOff(String(row['name']));
  await eventually('its successor serves', isReady, 100);
  expect((await find())?.spec.failureDomain).toBe('east');
});

it('is not replaced because of it when the machine that was given up takes the address', async () => {
  const { platform, world } = open().testbed;
  const before = (await find())?.metadata.uid;
  const names = (nas: TrueNasSimulator['nas']) =>
    [...nas.vms.values()].map(({ row }) => String(row['name'])).filter((name) => name.includes('_work_'));
  await west.restart({ hostReboot: true });
  const lost = () => world.machines.nodes().find(({ stuck }) => stuck?.includes('EADDRINUSE'));
  await eventually('the machine that was given up finds the address in use', lost);
  for (const name of names(world.truenas.nas)) await world.truenas.powerOff(name);
  await eventually('it has the address', () => !lost() || undefined);
  await platform.merge(ProviderConfig, home, { spec: { network: { timeServers: ['192.0.2.9'] } } });
  const state = await eventually('the conflict is reported', async () => {
    const found = findFalseCondition((await find())?.status?.conditions, 'Healthy');
    return found?.reason === 'AddressConflict' && found;
  });
  expect(state.message).toMatch(/is truenas:.* and not truenas:.*Power that machine off/);
  for (const name of names(west.nas)) await west.powerOff(name);
  await eventually('the successor is updated', async () => {
    const { conditions } = (await find())?.status ?? {};
    return isConditionTrue(conditions, 'UpToDate') && isConditionTrue(conditions, 'Healthy');
  });
  expect((await find())?.metadata.uid).toBe(before);
});

it('its remains are reported when the system returns, and are not touched: the successor has its address', async () => {
  open().pod.network.heal();
  await list(['east', 'west']);
  const told = await eventually('it is listed', async () => (await orphans())[0]);
  expect(told).toMatchObject({
    machine: worker.name,
    failureDomain: 'west',
    message: expect.stringContaining('A Machine with this name exists at east'),
  });
  await objects().annotate(ProviderConfig, home, { [annotations.removeOrphans]: worker.name });
  await eventually('it is kept', async () => (await messages('OrphanKept')).length > 0);
  expect(west.nas.vms.size).toBe(1);
});

it('orphans of one system are listed while another is away', async () => {
  const { platform } = open().testbed;
  const lone = machineName(ref, 'cp', 0);
  open().pod.network.cut('refused', { to: new RegExp(`:${new URL(west.line.url).port}$`) });
  await platform.merge(Cluster, ref, { metadata: { finalizers: null } });
  await platform.remove(Cluster, ref);
  await objects().removeByForce(lone);
  await objects().annotate(ProviderConfig, home, { 'openmcp.cloud/operation': 'reconcile' });
  await eventually('both are', async () => (await orphans()).length === 2);
  const all = new Map((await orphans()).map((one) => [one.machine, one]));
  expect(all.get(lone)).toMatchObject({
    failureDomain: 'east',
    message: expect.stringContaining('while west cannot be searched'),
  });
  expect(all.get(worker.name)?.failureDomain).toBe('west');
});
