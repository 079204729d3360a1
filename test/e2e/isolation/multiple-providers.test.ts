import { describe, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { accessRequestId, instanceFinalizers, labels, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { ServiceAccount } from '../../../src/kube/core-types.ts';
import type { ResourceType } from '../../../src/kube/resource.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { ConfigMap, openAdminClient, openGrantedClient } from '../support/access/workload-cluster.ts';
import type { Provider } from '../support/provider-process/provider.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.218' });
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] }] };
const inShop = (name: string): NamespacedRef => ({ namespace: 'shop', name });
const [ours, theirs] = [inShop('ours'), inShop('theirs')];

let other: Provider;
/** Instances with the name of the first one, in another environment or namespace. */
let namesakes: Provider[];

const isReady = async (ref: NamespacedRef): Promise<boolean> =>
  (await open().objects.getCluster(ref)).status?.phase === 'Ready';
const isGranted = async (ref: NamespacedRef): Promise<boolean> =>
  (await open().objects.getRequest(ref)).status?.phase === 'Granted';
const goes = (type: ResourceType, ref: NamespacedRef) =>
  eventually(`${ref.name} is gone`, async () => !(await open().objects.exists(type, ref)));

async function ask(name: string, cluster: NamespacedRef): Promise<NamespacedRef> {
  await open().objects.request(inShop(name), { clusterRef: cluster, token });
  await eventually(`${name} is granted`, () => isGranted(inShop(name)));
  return inShop(name);
}

/** Accounts in a cluster that an instance has created for a request. */
async function accountsOf(provider: string, cluster: NamespacedRef, request: NamespacedRef): Promise<string[]> {
  const admin = await openAdminClient(open(), cluster);
  try {
    const labelSelector = `${labels.access}=${accessRequestId(open().environment, provider, request)}`;
    return (await admin.list(ServiceAccount, { labelSelector })).items.map(({ metadata }) => metadata.name);
  } finally {
    await admin.close();
  }
}

/** Resource versions of everything that several instances could write. Conditions of an idle Cluster do not change. */
async function versions(): Promise<string[]> {
  const kinds: readonly ResourceType[] = [AccessRequest, ProviderConfig, Cluster, Machine];
  const lists = await Promise.all(kinds.map(async (type) => (await open().platform.list(type)).items));
  return lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`);
}

async function isQuiet(): Promise<void> {
  let before = await versions();
  await eventually('nothing is written any more', async () => {
    const [last, now] = [before, await versions()];
    before = now;
    return last.join() === now.join();
  });
  await consistently(2, async () => expect(await versions()).toEqual(before));
}

prepareTestbed(open, async (testbed) => {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config('home', { pool: [10, 30] });
  await objects.config('away', { provider: 'other', pool: [40, 60] });
  other = testbed.addProvider('other');
  await objects.ensureNamespace('elsewhere');
  namesakes = [
    testbed.addProvider('talos', { environment: 'prod' }),
    testbed.addProvider('talos', { namespace: 'elsewhere' }),
  ];
  other.start();
  await eventually('both profiles are there', async () => {
    const configs = await Promise.all(['home', 'away'].map((name) => objects.getConfig(name)));
    return configs.every(({ status }) => status?.phase === 'Ready');
  });
  await objects.cluster(ours);
  await objects.cluster(theirs, { profile: objects.profileOf('away', 'other') });
  for (const ref of [ours, theirs]) await eventually(`${ref.name} is ready`, () => isReady(ref), 90);
  await ask('ours-1', ours);
  await ask('theirs-1', theirs);
});

const finalizersAt = async (ref: NamespacedRef) => (await open().objects.getRequest(ref)).metadata.finalizers;

describe('two providers in one namespace', () => {
  it('hold their own AccessRequests, each by a finalizer of its own, and do not write to those of the other', async () => {
    const own = ({ instance }: Provider) => [instanceFinalizers(instance).accessRequest];
    expect(await finalizersAt(inShop('ours-1'))).toEqual(own(open().provider));
    expect(await finalizersAt(inShop('theirs-1'))).toEqual(own(other));
    await isQuiet();
  });

  it('an AccessRequest that is deleted while its instance is away waits for it, and leaves no account behind', async () => {
    const { objects } = open();
    const request = await ask('theirs-2', theirs);
    const holder = await openGrantedClient(open(), request);
    try {
      await other.stop();
      await objects.remove(AccessRequest, request);
      await consistently(2, async () => expect(await objects.exists(AccessRequest, request)).toBe(true));
      expect(await accountsOf('other', theirs, request)).toHaveLength(1);
      other.start();
      await goes(AccessRequest, request);
      expect(await accountsOf('other', theirs, request)).toEqual([]);
      await expect(holder.list(ConfigMap)).rejects.toMatchObject({ status: 401 });
    } finally {
      await holder.close();
    }
  });

  it('an AccessRequest that is reassigned while its instance is away is released by that instance only', async () => {
    const { provider, platform, objects } = open();
    const request = await ask('moved', ours);
    await provider.stop();
    await platform.merge(AccessRequest, request, { metadata: { labels: { [openmcpKeys.provider]: 'other' } } });
    await platform.merge(AccessRequest, request, { status: { phase: 'Pending' } }, { subresource: 'status' });
    await eventually('the other one has it, too', async () => (await finalizersAt(request))?.length === 2);
    expect(await accountsOf('talos', ours, request)).toHaveLength(1);
    await objects.remove(AccessRequest, request);
    await eventually('the other one has let go', async () => (await finalizersAt(request))?.length === 1);
    expect(await finalizersAt(request)).toEqual([instanceFinalizers(provider.instance).accessRequest]);
    provider.start();
    await goes(AccessRequest, request);
    expect(await accountsOf('talos', ours, request)).toEqual([]);
  });
});

describe('instances of the same name in another environment and in another namespace', () => {
  it('do not touch objects of the first one', async () => {
    await isQuiet();
    const before = await versions();
    for (const namesake of namesakes) namesake.start();
    const leading = ({ lines }: Provider) => lines.some((line) => line.includes('"message":"leading"'));
    await eventually('all of them lead', () => namesakes.every(leading));
    await consistently(2, async () => expect(await versions()).toEqual(before));
  });

  it('do not take a new AccessRequest', async () => {
    const request = await ask('ours-2', ours);
    expect(await finalizersAt(request)).toEqual([instanceFinalizers(open().provider.instance).accessRequest]);
    await isQuiet();
    await open().objects.remove(AccessRequest, request);
    await goes(AccessRequest, request);
    expect(await accountsOf('talos', ours, request)).toEqual([]);
  });

  it('delete nothing while the first one is away, and do not disturb it after its return', async () => {
    const { objects, provider, world } = open();
    await provider.stop();
    await objects.remove(AccessRequest, inShop('ours-1'));
    await objects.remove(Cluster, ours);
    const machines = () => world.truenas.dump().vms.length;
    const count = machines();
    await consistently(2, async () => {
      expect(await objects.exists(AccessRequest, inShop('ours-1'))).toBe(true);
      expect((await objects.machines(ours)).map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined]);
      expect(machines()).toBe(count);
    });
    provider.start();
    await goes(Cluster, ours);
    await goes(AccessRequest, inShop('ours-1'));
    expect(await isReady(theirs)).toBe(true);
  });
});

it('no instance logs a fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
