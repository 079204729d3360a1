import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { Machine } from '../../../src/api/machine.ts';
import { machineName } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Namespace, Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { ConfigMap, withAdminClient, withGrantedClient } from '../support/access/workload-cluster.ts';
import { listLeftovers, listNasLeftovers } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.104' });
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] }] };

/** A ProviderConfig, a Cluster of it and an AccessRequest for that Cluster, all of the same name. */
interface Trio {
  readonly name: string;
  readonly ref: NamespacedRef;
}
const trio = (name: string, namespace = 'shop'): Trio => ({ name, ref: { namespace, name } });

type Member = 'ProviderConfig' | 'Cluster' | 'AccessRequest';
const orders: readonly (readonly [Member, Member, Member])[] = [
  ['AccessRequest', 'Cluster', 'ProviderConfig'],
  ['AccessRequest', 'ProviderConfig', 'Cluster'],
  ['Cluster', 'AccessRequest', 'ProviderConfig'],
  ['Cluster', 'ProviderConfig', 'AccessRequest'],
  ['ProviderConfig', 'AccessRequest', 'Cluster'],
  ['ProviderConfig', 'Cluster', 'AccessRequest'],
];
const ordered = orders.map((_, i) => trio(`order-${i}`));
const needed = trio('needed');
const doomed = trio('doomed', 'doomed');
const foreignFinalizer = 'service.example.org/still-here';

async function make({ name, ref }: Trio, metadata: { finalizers?: string[] } = {}): Promise<void> {
  const { objects } = open();
  await objects.config(name);
  await objects.cluster(ref, { config: name }, metadata);
  await objects.request(ref, { clusterRef: ref, token });
}

async function remove(member: Member, { name, ref }: Trio): Promise<void> {
  const { objects } = open();
  if (member === 'ProviderConfig') await objects.remove(ProviderConfig, { name });
  if (member === 'Cluster') await objects.remove(Cluster, ref);
  if (member === 'AccessRequest') await objects.remove(AccessRequest, ref);
}

async function isLeft({ name, ref }: Trio): Promise<string[]> {
  const { objects } = open();
  const [config, profile, cluster, request] = await Promise.all([
    objects.exists(ProviderConfig, { name }),
    objects.exists(ClusterProfile, { name: objects.profileOf(name) }),
    objects.exists(Cluster, ref),
    objects.exists(AccessRequest, ref),
  ]);
  const left = { ProviderConfig: config, ClusterProfile: profile, Cluster: cluster, AccessRequest: request };
  return Object.entries(left).flatMap(([kind, is]) => (is ? [`${kind} ${name}`] : []));
}

const isGone = async (one: Trio): Promise<boolean> => {
  expect(await isLeft(one)).toEqual([]);
  return true;
};
const isGranted = async ({ ref }: Trio): Promise<boolean> =>
  (await open().objects.getRequest(ref)).status?.phase === 'Granted';

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await make(needed, { finalizers: [foreignFinalizer] });
  for (const one of [...ordered, doomed]) await make(one);
  for (const one of [needed, ...ordered, doomed]) await eventually(`${one.name} is granted`, () => isGranted(one), 110);
});

describe('a Cluster with a foreign finalizer', () => {
  it('C20, C40: is reconciled as before although it is deleted, and names its remaining users', async () => {
    const testbed = open();
    const { objects } = testbed;
    const { status: before } = await objects.getCluster(needed.ref);
    await remove('Cluster', needed);
    const status = await eventually('it is Terminating', async () => {
      const { status: now } = await objects.getCluster(needed.ref);
      return now?.phase === 'Terminating' && now;
    });
    expect(status.endpoints).toEqual(before?.endpoints);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'ForeignFinalizersGone',
        status: 'False',
        message: `Still needed by ${foreignFinalizer}.`,
      }),
    );
    expect(isConditionTrue(status.conditions, 'EndpointReachable')).toBe(true);
    expect((await withAdminClient(testbed, needed.ref, (admin) => admin.list(ConfigMap))).items).toBeDefined();
  });

  it('still gives access: a lost Secret comes back, a new request is granted, an old one can be deleted', async () => {
    const testbed = open();
    const { objects } = testbed;
    const secret = { namespace: 'shop', name: 'needed.kubeconfig' };
    await objects.remove(Secret, secret);
    await eventually('the Secret is back', () => objects.exists(Secret, secret));
    const late = trio('late');
    await objects.request(late.ref, { clusterRef: needed.ref, token });
    await eventually('the new request is granted', () => isGranted(late));
    await withGrantedClient(testbed, late.ref, async (holder) => await holder.list(ConfigMap));
    await remove('AccessRequest', late);
    await eventually('the new request is gone', async () => !(await objects.exists(AccessRequest, late.ref)));
    expect(listNasLeftovers(testbed).filter((fingerprint) => fingerprint.startsWith('VM needed'))).toHaveLength(1);
  });

  it('is deleted after its last foreign finalizer once the NAS answers, and reports that it waits for the NAS', async () => {
    const { objects, platform, world } = open();
    const { metadata } = await objects.getCluster(needed.ref);
    const finalizers = metadata.finalizers?.filter((name) => name !== foreignFinalizer) ?? [];
    world.switchboard.fail('truenas', /./, { kind: 'drop' }, Number.POSITIVE_INFINITY);
    await platform.merge(Cluster, needed.ref, { metadata: { finalizers } });
    await eventually('it says so', async () => {
      const { status } = await objects.getCluster(needed.ref);
      expect(status?.conditions?.find(({ type }) => type === 'MachinesReady')?.message).toMatch(
        /^Deleting needed-.*\(powered-off: The TrueNAS system could not be reached/,
      );
      return true;
    });
    expect(listNasLeftovers(open()).filter((fingerprint) => fingerprint.startsWith('VM needed'))).toHaveLength(1);
    world.switchboard.clear();
    await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, needed.ref)));
    await remove('AccessRequest', needed);
    await remove('ProviderConfig', needed);
    await eventually('all of it is gone', () => isGone(needed));
  });
});

describe('a ProviderConfig in use', () => {
  const [used = trio('')] = ordered;

  it('C12, C14, C15: is not released, names its Clusters, and accepts no new ones', async () => {
    const { objects } = open();
    await remove('ProviderConfig', used);
    await eventually('it says who uses it', async () => {
      const { status } = await objects.getConfig(used.name);
      expect(status?.phase).toBe('Terminating');
      expect(status?.conditions?.find(({ type }) => type === 'NotInUse')).toMatchObject({
        status: 'False',
        message: 'Still used by shop/order-0. The deletion continues when they are deleted.',
      });
      return true;
    });
    const late = trio('too-late');
    await objects.cluster(late.ref, { config: used.name });
    await eventually('the new Cluster is refused', async () => {
      const { status } = await objects.getCluster(late.ref);
      expect(status?.conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'False' });
      return true;
    });
    expect(await objects.machines(late.ref)).toEqual([]);
    await remove('Cluster', late);
    await eventually('the new Cluster is gone', async () => !(await objects.exists(Cluster, late.ref)));
  });

  it('reconciles its Cluster until its deletion', async () => {
    const testbed = open();
    const { objects } = testbed;
    const secret = { namespace: 'shop', name: `${used.name}.kubeconfig` };
    await objects.remove(Secret, secret);
    await eventually('access is renewed', () => objects.exists(Secret, secret));
    expect((await objects.getCluster(used.ref)).status?.phase).toBe('Ready');
  });
});

describe('deletion of a ProviderConfig, its Cluster and an AccessRequest at once', () => {
  it.each(orders.map((order, i) => ({ order: order.join(', '), i })))(
    'leaves nothing behind: $order',
    async ({ i }) => {
      const one = ordered[i] ?? trio('');
      for (const member of orders[i] ?? []) await remove(member, one);
      await eventually('all of it is gone', () => isGone(one));
      expect(listNasLeftovers(open()).filter((fingerprint) => fingerprint.includes(`order_${i}_`))).toEqual([]);
    },
  );
});

describe('deletion', () => {
  it('of a namespace deletes its Cluster and its access', async () => {
    const { objects } = open();
    await objects.remove(Namespace, { name: 'doomed' });
    await eventually('the namespace is gone', async () => !(await objects.exists(Namespace, { name: 'doomed' })));
    await remove('ProviderConfig', doomed);
    await eventually('all of it is gone', () => isGone(doomed));
  });

  it.each(['disk-created', 'powered-on', 'await-member'])(
    'in the middle of a creation leaves nothing behind either: %s',
    async (step) => {
      const { recorder } = open();
      const one = trio(`cut-${step}`);
      const machine = { name: machineName(one.ref, 'cp', 0) };
      await make(one);
      await eventually(`the machine is at ${step}`, () =>
        recorder.of(Machine, machine).some(({ object }) => object.status?.progress?.step === step),
      );
      for (const member of ['ProviderConfig', 'Cluster', 'AccessRequest'] as const) await remove(member, one);
      await eventually('all of it is gone', () => isGone(one));
    },
  );

  it('leaves only the cached boot image', async () => {
    await eventually('nothing is left', async () => {
      expect(await listLeftovers(open())).toEqual([]);
      return true;
    });
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});

it('no secret appears in any log line, event, status or condition', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});
