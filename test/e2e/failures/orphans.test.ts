import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { annotations, machineName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Event } from '../../../src/kube/event-recorder.ts';
import { eventually } from '../../support/eventually.ts';
import { callNas, identityOnNas } from '../support/access/nas.ts';
import { addressHolders, infrastructureWrites } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.30' });
const main = { namespace: 'shop', name: 'main' };
const home = { name: 'home' };
const machine = machineName(main, 'cp', 0);

const mark = (installation: string, provider: string): string =>
  `cluster-provider-talos: installation=${installation} provider=${provider} machine=${machine}`;

/** Creates foreign objects on the system, under names like ours and with foreign ownership marks. */
async function makeForeign(): Promise<void> {
  const testbed = open();
  const installation = await testbed.installation();
  const make = (name: string, description: string) =>
    callNas(testbed, 'vm.create', [{ name, description, memory: 512, vcpus: 1 }]);
  await make('foreign_none', '');
  await make('foreign_installation', mark('another', 'talos'));
  await make('foreign_provider', mark(installation, 'other'));
  await make('foreign_copy', mark(installation, 'talos'));
  const { dataset } = await identityOnNas(testbed, `${machine}-x`);
  await callNas(testbed, 'pool.dataset.create', [{ name: dataset, create_ancestors: true }]);
}

/** Everything on the system but for the cache of images. */
function listNasResources(): string[] {
  const { vms, datasets } = open().world.truenas.dump();
  const names = [...vms, ...datasets].map((row) => {
    const { name, id } = row as { name?: string; id: unknown };
    return name ?? String(id);
  });
  return names.filter((name) => !/^tank(\/talos(\/images.*)?)?$/.test(name)).sort();
}

const messages = async (reason: string): Promise<string[]> => {
  const { items } = await open().platform.list(Event, { namespace: 'default' });
  return items.filter((event) => event.reason === reason).map(({ message }) => message);
};
const orphansOf = async () => (await open().objects.getConfig('home')).status?.orphans ?? [];

let foreign: string[];

prepareTestbed(open, async (testbed) => {
  const { objects, provider } = testbed;
  await objects.credentials();
  await objects.config('home');
  await eventually(
    'it was searched',
    async () => (await objects.getConfig('home')).status?.orphanSearch?.result === 'NoneFound',
  );
  await makeForeign();
  foreign = listNasResources();
  await objects.cluster(main);
  await eventually('the Cluster is ready', async () => (await objects.getCluster(main)).status?.phase === 'Ready', 100);
  await provider.stop();
  // Finalizers are removed by hand, as an impatient user does.
  await objects.removeByForce(machine);
  await testbed.platform.merge(Cluster, main, { metadata: { finalizers: null } });
  await testbed.platform.remove(Cluster, main);
});

describe('a Machine that was deleted by force', () => {
  it('T47: is listed by its remains, and nothing is changed', async () => {
    const testbed = open();
    const before = listNasResources();
    const writes = infrastructureWrites(testbed.calls).length;
    testbed.provider.start();
    const [orphan, ...others] = await eventually('it is listed', async () => {
      const list = await orphansOf();
      return list.length > 0 && list;
    });
    const { vmName, dataset } = await identityOnNas(testbed, machine);
    expect(orphan).toMatchObject({
      machine,
      resources: `virtual machine ${vmName} (RUNNING), dataset ${dataset}, zvol ${dataset}/boot`,
      message: expect.stringMatching(/^The address 127\.42\.30\.\d+ is claimed for it\. .*remove-orphans/),
    });
    expect(others).toEqual([]);
    const { status } = await testbed.objects.getConfig('home');
    expect(status?.orphanSearch?.result).toBe('OrphansFound');
    // Ready is the sum of all conditions.
    expect(status?.conditions?.filter(({ status: messages }) => messages !== 'True')).toEqual([]);
    expect([isConditionTrue(status?.conditions, 'Ready'), status?.phase]).toEqual([true, 'Ready']);
    await eventually('an Event tells it', async () =>
      (await messages('OrphanFound')).some((one) => one.includes(machine)),
    );
    expect(listNasResources()).toEqual(before);
    expect(infrastructureWrites(testbed.calls)).toHaveLength(writes);
  });

  it('T47, G14: is removed by name, with its address and without foreign objects; a name that is no orphan is reported', async () => {
    const testbed = open();
    await testbed.objects.annotate(ProviderConfig, home, { [annotations.removeOrphans]: `${machine}, nobody` });
    await eventually('nothing is left of it', async () => (await orphansOf()).length === 0, 90);
    expect(listNasResources()).toEqual(foreign);
    expect([...(await addressHolders(testbed)).values()].filter((holder) => holder.startsWith('machine/'))).toEqual([]);
    const { metadata, status } = await testbed.objects.getConfig('home');
    expect(metadata.annotations?.[annotations.removeOrphans]).toBeUndefined();
    expect(status?.orphanSearch?.result).toBe('NoneFound');
    await eventually(
      'it is told',
      async () => (await messages('OrphanRemoved')).join() === `All resources of ${machine} are removed.`,
    );
    expect(await messages('OrphanKept')).toEqual([
      expect.stringMatching(/^nobody: This ProviderConfig has no resources/),
    ]);
    expect(testbed.faults()).toEqual([]);
  });
});
