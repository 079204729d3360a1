import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { machineName, openmcpGroup, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { callNas, identityOnNas } from '../support/access/nas.ts';
import { listAccessObjects } from '../support/access/workload-cluster.ts';
import { addressHolders, providerCalls } from '../support/observation/provider-calls.ts';
import type { Provider } from '../support/provider-process/provider.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** A NAS with other users' data. */
const seeds = {
  truenas: {
    datasets: [{ name: 'tank/photos' }, { name: 'tank/printer', volumeBytes: 2 ** 30 }],
    files: [{ path: '/mnt/tank/photos/cat.txt', content: 'a cat' }],
    vms: [
      { name: 'printer', devices: [{ attributes: { dtype: 'DISK', path: '/dev/zvol/tank/printer', type: 'VIRTIO' } }] },
    ],
  },
};
const open = startTestbed({ subnet: '127.42.103', seeds });
const ours = { namespace: 'shop', name: 'ours' };
const theirs = { namespace: 'shop', name: 'theirs' };
const alien = { namespace: 'alien', name: 'foreign' };
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };

let before: ReturnType<typeof foreignResources>;
let other: Provider;

const isReady = async (ref: typeof ours): Promise<boolean> =>
  (await open().objects.getCluster(ref)).status?.phase === 'Ready';

/** Everything on the NAS that does not belong to the provider. */
function foreignResources({ world }: Testbed) {
  const { datasets, files, vms, devices, interfaces } = world.truenas.dump();
  const isTheirs = (thing: object): boolean => /photos|printer/.test(JSON.stringify(thing));
  return [datasets, files, vms, devices].map((objects) => objects.filter(isTheirs)).concat([[...interfaces]]);
}

prepareTestbed(open, async (testbed) => {
  const { objects, platform } = testbed;
  before = foreignResources(testbed);
  await platform.create(ClusterProfile, {
    apiVersion: `${openmcpGroup}/v1alpha1`,
    kind: 'ClusterProfile',
    metadata: { name: 'test.kind.local' },
    spec: { providerRef: { name: 'kind' }, providerConfigRef: { name: 'local' }, supportedVersions: [] },
  });
  await objects.credentials();
  await objects.config('theirs', { provider: 'other', pool: [10, 20] });
  await objects.cluster(alien, { profile: 'test.kind.local' });
  await objects.request(alien, { clusterRef: alien, token });
  await objects.config('home', { pool: [10, 20] });
  await objects.cluster(ours);
  await eventually('our Cluster is ready', () => isReady(ours), 90);
});

/** Calls of the provider that name something in the foreign namespaces. */
const callsAboutAliens = (): string[] =>
  providerCalls(open().calls)
    .map(({ name }) => name)
    .filter((name) => /alien|foreign|test\.kind/.test(name));

describe('resources of other providers', () => {
  it('C18, C19: cause no call: neither a Cluster nor an AccessRequest, not even at deletion', async () => {
    const { objects } = open();
    const request = await eventually('the operator has handed the request to the other provider', async () => {
      const found = await objects.getRequest(alien);
      return found.status?.phase === 'Pending' && found;
    });
    expect(request.metadata.labels).toMatchObject({ [openmcpKeys.provider]: 'kind' });
    await objects.annotate(Cluster, alien, { [openmcpKeys.operation]: 'reconcile' });
    await objects.remove(AccessRequest, alien);
    await objects.remove(Cluster, alien);
    await eventually('both are gone', async () => !(await objects.exists(Cluster, alien)));
    await consistently(1, () => expect(callsAboutAliens()).toEqual([]));
    expect((await objects.getConfig('home')).status?.clusters).toBe(1);
  });

  it('C11: stay unchanged: a ProviderConfig of another instance', async () => {
    const { recorder, objects } = open();
    const config = await objects.getConfig('theirs');
    expect(recorder.of(ProviderConfig, { name: 'theirs' })).toHaveLength(1);
    expect(config.metadata).not.toHaveProperty('finalizers');
    expect(await objects.exists(ClusterProfile, { name: 'test.other.theirs' })).toBe(false);
    expect(await objects.exists(ClusterProfile, { name: 'test.talos.theirs' })).toBe(false);
  });
});

describe('an AccessRequest without the assignment by the operator', () => {
  it('C44: is not touched, although it names us and a cluster of ours', async () => {
    const { objects, platform } = open();
    const raw = { namespace: 'shop', name: 'raw' };
    await platform.create(AccessRequest, {
      apiVersion: `${openmcpGroup}/v1alpha1`,
      kind: 'AccessRequest',
      metadata: {
        ...raw,
        labels: { [openmcpKeys.provider]: 'talos', [openmcpKeys.profile]: 'test.talos.home' },
        annotations: { [openmcpKeys.operation]: 'ignore' },
      },
      spec: { clusterRef: ours, token },
    });
    await consistently(1, async () => {
      const { metadata, status } = await objects.getRequest(raw);
      expect([metadata.finalizers, status]).toEqual([undefined, undefined]);
    });
    await objects.remove(AccessRequest, raw);
  });

  it('C49: loses its access when it is denied, and is not touched any more', async () => {
    const { objects, platform } = open();
    const denied = { namespace: 'shop', name: 'denied' };
    const secret = { namespace: 'shop', name: 'denied.kubeconfig' };
    const isGranted = async (ref: typeof ours) => (await objects.getRequest(ref)).status?.phase === 'Granted';
    await objects.request(denied, { clusterRef: ours, token });
    await eventually('it is granted', () => isGranted(denied));
    await platform.merge(AccessRequest, denied, { status: { phase: 'Denied' } }, { subresource: 'status' });
    await eventually('it is let go', async () => !(await objects.getRequest(denied)).metadata.finalizers?.length);
    expect(await listAccessObjects(open(), ours, denied)).toEqual([]);
    await consistently(1, async () => {
      const { status } = await objects.getRequest(denied);
      expect([status?.phase, await objects.exists(Secret, secret)]).toEqual(['Denied', false]);
    });
  });
});

describe('foreign objects on the NAS under the names of a machine', () => {
  const blocked = { namespace: 'shop', name: 'blocked' };
  const squatted = { namespace: 'shop', name: 'squatted' };

  it('stop the creation of the machine with a message, and survive its removal', async () => {
    const testbed = open();
    const { objects, world } = testbed;
    const [vmOf, datasetOf] = await Promise.all(
      [blocked, squatted].map(async (ref) => await identityOnNas(testbed, machineName(ref, 'cp', 0))),
    );
    const description = 'cluster-provider-talos: installation=another provider=talos machine=x';
    await callNas(testbed, 'vm.create', [{ name: vmOf?.vmName, description, memory: 512, vcpus: 1 }]);
    await callNas(testbed, 'pool.dataset.create', [{ name: datasetOf?.dataset, type: 'FILESYSTEM' }]);
    const squatters = () => {
      const { vms, datasets } = world.truenas.dump();
      const names = [vmOf?.vmName, datasetOf?.dataset];
      return [...vms, ...datasets].filter((thing) => {
        const { name, id } = thing as { name?: string; id: unknown };
        return names.includes(name) || names.includes(String(id));
      });
    };
    const found = squatters();
    expect(found).toHaveLength(2);
    const says = async (ref: typeof ours, words: string): Promise<void> => {
      await eventually(`the Cluster says ${words}`, async () => {
        const { status } = await objects.getCluster(ref);
        const condition = status?.conditions?.find(({ type }) => type === 'MachinesReady');
        expect(condition?.message).toContain(words);
        return true;
      });
    };
    await objects.cluster(blocked);
    await objects.cluster(squatted);
    await says(blocked, `It is the virtual machine ${vmOf?.vmName}. Rename or remove it`);
    await says(squatted, `It is the dataset ${datasetOf?.dataset}. Rename or remove it`);
    expect(squatters()).toEqual(found);
    for (const ref of [blocked, squatted]) await objects.remove(Cluster, ref);
    for (const ref of [blocked, squatted])
      await eventually(`${ref.name} is gone`, async () => !(await objects.exists(Cluster, ref)));
    expect(squatters()).toEqual(found);
  });
});

describe('another instance of this provider on the same platform and NAS', () => {
  it('C76: reconciles its own ProviderConfig and no other, with unassigned addresses of the same range', async () => {
    const testbed = open();
    const { objects } = testbed;
    other = testbed.addProvider('other');
    await other.init();
    other.start();
    await eventually('its ProviderConfig is ready', async () =>
      isConditionTrue((await objects.getConfig('theirs')).status?.conditions, 'Ready'),
    );
    await objects.cluster(theirs, { profile: objects.profileOf('theirs', 'other') });
    await eventually('its Cluster is ready', () => isReady(theirs), 90);
    const plan = await addressHolders(testbed);
    expect([...plan.values()].sort()).toEqual([
      'cluster/shop/ours',
      'cluster/shop/theirs',
      `machine/${machineName(ours, 'cp', 0)}`,
      `machine/${machineName(theirs, 'cp', 0)}`,
    ]);
    expect((await objects.getCluster(theirs)).metadata.labels).toMatchObject({ [openmcpKeys.provider]: 'other' });
    expect((await objects.getCluster(ours)).metadata.labels).toMatchObject({ [openmcpKeys.provider]: 'talos' });
    expect(await isReady(ours)).toBe(true);
  });

  it('loses nothing when ours is removed, and foreign resources stay unchanged', async () => {
    const testbed = open();
    const { objects, world } = testbed;
    const its = () => world.truenas.dump().vms.filter((vm) => JSON.stringify(vm).includes('provider=other'));
    const found = its();
    expect(found).toHaveLength(1);
    await objects.remove(Cluster, ours);
    await eventually('our Cluster is gone', async () => !(await objects.exists(Cluster, ours)));
    expect(its()).toEqual(found);
    expect(await isReady(theirs)).toBe(true);
    await objects.remove(Cluster, theirs);
    await eventually('its Cluster is gone', async () => !(await objects.exists(Cluster, theirs)));
    expect(foreignResources(testbed)).toEqual(before);
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
