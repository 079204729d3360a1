import { describe, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { annotations, clusterSecretsName, machineName, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { clusterRecordKey } from '../../../src/controllers/shared/secrets/cluster-record.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { createSecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../../src/talos/secrets/secrets-bundle-file.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { etcdVoters } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.37' });
const three = { namespace: 'shop', name: 'three' };
const one = { namespace: 'shop', name: 'one' };
const controlPlanes = [0, 1, 2].map((slot) => machineName(three, 'cp', slot)) as [string, string, string];
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };

const isReady = async (ref = three): Promise<boolean> =>
  (await open().objects.getCluster(ref)).status?.phase === 'Ready';
const keyOf = (ref = three) => ({ namespace: open().namespace, name: clusterSecretsName(ref) });
const findSecret = (ref = three) => open().platform.find(Secret, keyOf(ref));
const why = async (ref = three) =>
  (await open().objects.getCluster(ref)).status?.conditions?.find(({ type }) => type === 'Ready');
const says = (reason: string, ref = three) =>
  eventually(`the Cluster says ${reason}`, async () => (await why(ref))?.reason === reason);
/** Of both clusters, each of which has one. */
const bootstraps = () => open().calls.filter(({ name }) => name.endsWith('/Bootstrap')).length;
const uids = async () => (await open().objects.machines(three)).map(({ metadata }) => metadata.uid).sort();
const look = (ref = three) => open().objects.annotate(Cluster, ref, { [openmcpKeys.operation]: 'reconcile' });

/** A Secret as in a backup: without the fields that the API server adds. `keep` selects the annotations that stay. */
const fromBackup = ({ metadata, type, data }: Secret, keep = (_: string): boolean => true): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: metadata.name,
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
    labels: { ...metadata.labels },
    annotations: Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => keep(key))),
  },
  ...(type ? { type } : {}),
  ...(data ? { data } : {}),
});

const members = async () => [...(await etcdVoters(open(), three, controlPlanes[0])).values()];

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 3, pool: [10, 49] });
  await objects.config('small', { pool: [50, 99] });
  await objects.cluster(three);
  await objects.cluster(one, { config: 'small' });
  for (const ref of [three, one]) await eventually(`${ref.name} is ready`, () => isReady(ref), 150);
  await eventually('all of them vote', async () => (await members()).length === 3);
});

it('decisions are stored on the Secret and in the status before their execution', async () => {
  const { recorder, calls } = open();
  const record = (await open().objects.getCluster(three)).status?.providerStatus?.[clusterRecordKey];
  const notes = (await findSecret())?.metadata.annotations ?? {};
  expect(record).toMatchObject({
    bootstrapMachine: notes[annotations.bootstrapMachine],
    bootstrapRequest: notes[annotations.bootstrapRequest],
    bootstrappedAt: notes[annotations.bootstrappedAt],
  });
  const first = (has: (record: Record<string, unknown>) => boolean) =>
    recorder.of(Cluster, three).find(({ object }) => {
      const found = object.status?.providerStatus?.[clusterRecordKey];
      return found !== undefined && has(found as Record<string, unknown>);
    })?.at;
  const made = recorder.of(Machine).find(({ object }) => object.spec.clusterRef.name === three.name)?.at;
  expect(first(() => true)?.getTime()).toBeLessThanOrEqual(made?.getTime() ?? 0);
  const isCall = (name: string, detail: unknown): boolean =>
    name.endsWith('/Bootstrap') && JSON.stringify(detail).includes('three');
  const called = calls.find(({ name, detail }) => isCall(name, detail))?.at;
  expect(called).toBeDefined();
  expect(first((one) => one['bootstrapMachine'] !== undefined)?.getTime()).toBeLessThanOrEqual(called?.getTime() ?? 0);
});

it('etcd is bootstrapped with one call for each cluster', () => {
  expect(bootstraps()).toBe(2);
});

describe('a deleted Secret', () => {
  let backup: Secret;

  it('is not generated again: the Cluster names the remedy, and nothing is created or deleted', async () => {
    const { objects, platform } = open();
    const found = await findSecret();
    if (!found) throw new Error('there is no Secret');
    backup = found;
    const before = await uids();
    await objects.remove(Secret, keyOf());
    await says('SecretsMissing');
    expect((await why())?.message).toMatch(/Restore the Secret from a backup.*delete this Cluster/);
    await look();
    await consistently(2, async () => expect(await findSecret()).toBeUndefined());
    expect([await uids(), bootstraps()]).toEqual([before, 2]);
    const { status } = await platform.get(Cluster, three);
    expect(status?.endpoints, 'who uses it is not cut off').toHaveLength(2);
  });

  it('delays the deletion of a control plane, which is still a member', async () => {
    const { objects, platform } = open();
    const name = controlPlanes[1];
    const { uid } = (await platform.get(Machine, { name })).metadata;
    await objects.remove(Machine, { name });
    await eventually('it says why', async () => {
      const { conditions } = (await platform.get(Machine, { name })).status ?? {};
      return conditions?.some(({ reason }) => reason === 'SecretsMissing');
    });
    await consistently(1, async () => expect((await platform.get(Machine, { name })).metadata.uid).toBe(uid));
    expect(open().calls.filter(({ name: call }) => /EtcdLeaveCluster|EtcdRemoveMember/.test(call))).toEqual([]);
  });

  it('delays the deletion of an AccessRequest: its granted access still works', async () => {
    const { objects, platform } = open();
    const ref = { namespace: 'shop', name: 'mine' };
    await platform.create(Secret, fromBackup(backup));
    await eventually('it is ready', () => isReady(), 90);
    await objects.request(ref, { clusterRef: three, token });
    await eventually('access is granted', async () => (await objects.getRequest(ref)).status?.phase === 'Granted');
    await objects.remove(Secret, keyOf());
    await says('SecretsMissing');
    await objects.remove(AccessRequest, ref);
    await eventually('it says why', async () => {
      const { conditions } = (await objects.getRequest(ref)).status ?? {};
      return conditions?.some(({ message }) => message.includes('Restore the Secret'));
    });
  });

  it('restored from a backup as old as the cluster, resumes everything: no second bootstrap, and waiting work continues', async () => {
    const { objects, platform } = open();
    const before = await members().catch(() => undefined);
    expect(before, 'without the Secret nobody can be asked').toBeUndefined();
    const noted: readonly string[] = [
      annotations.bootstrappedAt,
      annotations.bootstrapMachine,
      annotations.bootstrapRequest,
    ];
    await platform.create(
      Secret,
      fromBackup(backup, (key) => !noted.includes(key)),
    );
    await eventually('the Secret says again what was decided', async () => {
      const notes = (await findSecret())?.metadata.annotations;
      return notes?.[annotations.bootstrappedAt] === backup.metadata.annotations?.[annotations.bootstrappedAt];
    });
    await eventually('it is ready', () => isReady(), 120);
    await eventually(
      'the access is gone',
      async () => !(await objects.exists(AccessRequest, { namespace: 'shop', name: 'mine' })),
    );
    await eventually(
      'another control plane has taken the place of the deleted one',
      async () => {
        const all = await objects.machines(three);
        return all.length === 3 && all.every(({ metadata }) => metadata.deletionTimestamp === undefined);
      },
      120,
    );
    await eventually('three vote', async () => (await members()).length === 3, 120);
    expect(bootstraps()).toBe(2);
  });
});

it('a Secret with another CA is not used, and nothing is deleted', async () => {
  const { platform } = open();
  const found = await findSecret();
  const before = await uids();
  const other = formatSecretsBundle(
    await createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 }),
  ).reveal();
  const put = (text: string) =>
    platform.merge(Secret, keyOf(), { data: { [secretsBundleKey]: Buffer.from(text).toString('base64') } });
  await put(other);
  await says('SecretsDiffer');
  expect((await why())?.message).toMatch(/has the secrets of another cluster.*It is not used/);
  expect([await uids(), bootstraps()]).toEqual([before, 2]);
  await put(Buffer.from(found?.data?.[secretsBundleKey] ?? '', 'base64').toString());
  await eventually('it is ready', () => isReady(), 60);
});

it('a Cluster whose Secret and status are lost is recognized by its Machines, and without them by its status', async () => {
  const { objects, platform } = open();
  const found = await findSecret();
  await platform.merge(
    Cluster,
    three,
    { status: { providerStatus: null, endpoints: null, apiServer: null } },
    { subresource: 'status' },
  );
  await objects.remove(Secret, keyOf());
  await says('SecretsMissing');
  expect((await why())?.message).toContain('Machines exist');
  if (found) await platform.create(Secret, fromBackup(found));
  await eventually('it is ready', () => isReady(), 60);
  expect((await objects.getCluster(three)).status?.providerStatus?.[clusterRecordKey]).toMatchObject({
    bootstrapMachine: found?.metadata.annotations?.[annotations.bootstrapMachine],
  });
});

it('a Cluster with the Secret of another one can be deleted, and that Secret stays', async () => {
  const { objects, platform } = open();
  const other = formatSecretsBundle(
    await createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 }),
  ).reveal();
  const data = { [secretsBundleKey]: Buffer.from(other).toString('base64') };
  await platform.merge(Secret, keyOf(one), { data });
  await says('SecretsDiffer', one);
  await objects.remove(Cluster, one);
  await eventually('it is gone', async () => !(await objects.exists(Cluster, one)), 60);
  expect(await objects.machines(one)).toEqual([]);
  expect((await findSecret(one))?.data).toEqual(data);
});

it('a Cluster without its Secret can be deleted, and leaves nothing behind', async () => {
  const { objects } = open();
  await objects.remove(Secret, keyOf());
  await says('SecretsMissing');
  await objects.remove(Cluster, three);
  await eventually('it is gone', async () => !(await objects.exists(Cluster, three)), 60);
  expect(await objects.machines()).toEqual([]);
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
