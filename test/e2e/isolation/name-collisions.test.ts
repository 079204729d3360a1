import { describe, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { accessRequestId, annotations, clusterId, clusterSecretsName } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { Lease, Secret } from '../../../src/kube/core-types.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { ConfigMap, openGrantedClient, withGrantedClient } from '../support/access/workload-cluster.ts';
import { listNasLeftovers } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.217' });
const { approve: repair } = annotations;

/**
 * Result of a birthday search: namespace and name of both have the same hash of 40 bits, and both have the same name.
 */
const first = { namespace: 'team-g6o2', name: 'shop' };
const second = { namespace: 'team-iuat', name: 'shop' };
const secret = { namespace: 'openmcp-system', name: clusterSecretsName(first) };

const isReady = async (ref: NamespacedRef): Promise<boolean> =>
  (await open().objects.getCluster(ref)).status?.phase === 'Ready';

/** Everything on the platform cluster for the first Cluster, without fields that change on their own. */
async function heldForFirst() {
  const { platform, objects } = open();
  const object = await platform.get(Secret, secret);
  const machines = await objects.machines(first);
  const { items: leases } = await platform.list(Lease, { namespace: 'openmcp-system' });
  return {
    secret: [object.metadata.uid, object.data],
    machines: machines.map(({ metadata }) => [metadata.name, metadata.uid, metadata.deletionTimestamp]),
    addresses: leases
      .filter(({ metadata }) => metadata.name.startsWith('talos-address-'))
      .map(({ metadata, spec }) => [metadata.name, metadata.uid, spec?.holderIdentity]),
    nas: listNasLeftovers(open()),
  };
}

async function refusalOf(ref: NamespacedRef): Promise<string> {
  return await eventually('it says what it collides with', async () => {
    const { status } = await open().objects.getCluster(ref);
    const ready = status?.conditions?.find(({ type, reason }) => type === 'Ready' && reason === 'NameCollision');
    return ready?.message;
  });
}

const goes = (ref: NamespacedRef) =>
  eventually('the Cluster is gone', async () => !(await open().objects.exists(Cluster, ref)));

let before: Awaited<ReturnType<typeof heldForFirst>>;

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { workers: 1 });
  await objects.cluster(first);
  await eventually('the first Cluster is ready', () => isReady(first), 90);
  before = await heldForFirst();
});

describe('two Clusters whose names have the same hash', () => {
  it('are kept apart: the second one reports the collision, and takes nothing of the first', async () => {
    expect(clusterId(first)).toBe(clusterId(second));
    await open().objects.cluster(second);
    const message = await refusalOf(second);
    expect(message).toContain(`belongs to Cluster ${first.namespace}/${first.name} `);
    expect(message).toContain('Create this Cluster with another name.');
    await consistently(1, async () => expect(await heldForFirst()).toEqual(before));
    expect(await isReady(first)).toBe(true);
  });

  it('stay apart at deletion: the second one is deleted, and nothing of the first', async () => {
    await open().objects.remove(Cluster, second);
    await goes(second);
    await consistently(1, async () => expect(await heldForFirst()).toEqual(before));
    expect(await isReady(first)).toBe(true);
  });
});

describe('two AccessRequests whose names have the same hash', () => {
  const [one, two] = ['ci-8f8l', 'ci-wz65'].map((name) => ({ namespace: 'shop', name }));
  const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] }] };
  const ask = (ref: NamespacedRef) => open().objects.request(ref, { clusterRef: first, token });
  const readyOf = async (ref: NamespacedRef) =>
    (await open().objects.getRequest(ref)).status?.conditions?.find(({ type }) => type === 'Ready');
  const isGranted = (ref: NamespacedRef) =>
    eventually('it is granted', async () => (await open().objects.getRequest(ref)).status?.phase === 'Granted');
  const leaves = (ref: NamespacedRef) =>
    eventually('it is gone', async () => !(await open().objects.exists(AccessRequest, ref)));

  it('are kept apart: the second one reports the collision, and its deletion takes nothing from the first', async () => {
    if (!one || !two) throw new Error('there are two names');
    expect(accessRequestId('test', 'talos', one)).toBe(accessRequestId('test', 'talos', two));
    await ask(one);
    await isGranted(one);
    const holder = await openGrantedClient(open(), one);
    try {
      await ask(two);
      const rejection = await eventually('the second one is refused', async () => {
        const ready = await readyOf(two);
        return ready?.reason === 'NotManaged' && ready.message;
      });
      expect(rejection).toContain(
        'exists in the cluster for AccessRequest shop/ci-8f8l, whose name has the same hash.',
      );
      await open().objects.remove(AccessRequest, two);
      await leaves(two);
      expect((await holder.list(ConfigMap)).items).toBeDefined();
    } finally {
      await holder.close();
    }
  });

  it('an AccessRequest that is created again under its name has nothing of the former one, whose token ends', async () => {
    if (!one) throw new Error('there is a name');
    const { objects, platform, provider } = open();
    const holder = await openGrantedClient(open(), one);
    try {
      // By force: the provider is stopped and cannot react.
      await provider.stop();
      await platform.merge(AccessRequest, one, { metadata: { finalizers: [] } });
      await objects.remove(AccessRequest, one);
      await leaves(one);
      await ask(one);
      provider.start();
      await isGranted(one);
      await expect(holder.list(ConfigMap)).rejects.toMatchObject({ status: 401 });
      await withGrantedClient(open(), one, async (next) => expect((await next.list(ConfigMap)).items).toBeDefined());
      await objects.remove(AccessRequest, one);
      await leaves(one);
    } finally {
      await holder.close();
    }
  });
});

describe('a Cluster that is created again under its name while the Machines of the old one exist', () => {
  it('is a new Cluster: it adopts nothing, and names the obstacle', async () => {
    const { objects, platform } = open();
    // By force: the provider is stopped and cannot react.
    await open().provider.stop();
    await platform.merge(Cluster, first, { metadata: { finalizers: [] } });
    await objects.remove(Cluster, first);
    await goes(first);
    const { metadata } = await objects.cluster(first);
    open().provider.start();
    const message = await refusalOf(first);
    expect(message).toContain(`set its annotation ${annotations.clusterUid} to ${metadata.uid}`);
    await consistently(1, async () => expect(await heldForFirst()).toEqual(before));
  });

  it('is deleted without the Machines, the Secret and the addresses of the old one', async () => {
    await open().objects.remove(Cluster, first);
    await goes(first);
    await consistently(1, async () => expect(await heldForFirst()).toEqual(before));
  });
});

describe('a Cluster that is created again under its name when only the virtual machines of the old one are left', () => {
  it('does not touch them, names the obstacle, and is deleted without them', async () => {
    const { objects, provider, world } = open();
    const machines = await objects.machines(first);
    await provider.stop();
    for (const { metadata } of machines) await objects.removeByForce(metadata.name);
    await objects.remove(Secret, secret);
    const left = () => [
      world.truenas.dump().vms,
      world.truenas.dump().datasets.filter((one) => /shop/.test(JSON.stringify(one))),
    ];
    const kept = left();
    expect(listNasLeftovers(open())).toEqual(before.nas);
    await objects.cluster(first);
    provider.start();
    await eventually('it says what is in its way', async () => {
      const { status } = await objects.getCluster(first);
      const message = status?.conditions?.find(({ type }) => type === 'MachinesReady')?.message;
      return /It is the dataset [^ ]*shop_[^ ]*\. Rename or remove it/.test(message ?? '');
    });
    expect(left()).toEqual(kept);
    await objects.remove(Cluster, first);
    await goes(first);
    expect(left()).toEqual(kept);
  });
});

it('a Cluster that is created again under its name becomes ready after users remove the remains of the old one', async () => {
  const { objects, platform, provider } = open();
  const again = { namespace: 'shop', name: 'again' };
  const key = { namespace: 'openmcp-system', name: clusterSecretsName(again) };
  await objects.cluster(again);
  await eventually('it is ready', () => isReady(again), 90);
  const { uid } = (await platform.get(Secret, key)).metadata;
  await provider.stop();
  await platform.merge(Cluster, again, { metadata: { finalizers: [] } });
  await objects.remove(Cluster, again);
  await goes(again);
  const made = (await objects.cluster(again)).metadata;
  provider.start();
  await refusalOf(again);
  for (const { metadata } of await objects.machines(again)) {
    await objects.annotate(Machine, { name: metadata.name }, { [repair]: 'LastControlPlane' });
    await objects.remove(Machine, { name: metadata.name });
  }
  await eventually('the old Machines are gone', async () => (await objects.machines(again)).length === 0);
  await objects.remove(Secret, key);
  await eventually('the new Cluster is ready', () => isReady(again), 90);
  expect((await objects.machines(again)).map(({ spec }) => spec.clusterRef.uid)).toEqual([made.uid, made.uid]);
  expect((await platform.get(Secret, key)).metadata.uid).not.toBe(uid);
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
