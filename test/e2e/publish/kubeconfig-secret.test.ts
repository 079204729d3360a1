import { expect, it } from 'vitest';
import { publicationId } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { Namespace, Secret, ServiceAccount } from '../../../src/kube/core-types.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { eventually } from '../../support/eventually.ts';
import { agedToken, askWith, publishedHelpers, publishedKubeconfig, readerRole } from '../support/access/published.ts';
import { accessResult, clientFromKubeconfig, withAdminClient } from '../support/access/workload-cluster.ts';
import { isProviderCall, providerWrites } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.130', speed: 60 });
const cluster = { namespace: 'shop', name: 'main' };
const { name, secret, makeReaderRole, isPublished } = publishedHelpers(open, cluster);
const key = { namespace: 'fleet', name };
const foreignFinalizer = 'consumer.example.org/still-here';

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    change: (spec) =>
      Object.assign(spec, {
        publish: { kubeconfigSecret: { namespace: 'fleet', clusterRole: readerRole, labels: { team: 'a' } } },
      }),
  });
  await objects.cluster(cluster);
});

it('a namespace that is missing is named, and created later is found', async () => {
  await isPublished('False', 'ClusterRoleMissing');
  await makeReaderRole();
  const message = await isPublished('False', 'NamespaceMissing');
  expect(message).toContain('kubectl create namespace fleet');
  await open().objects.ensureNamespace('fleet');
});

it('M1: the Secret has exactly the label, key and name that consumers look for', async () => {
  const message = await isPublished('True', 'AsExpected');
  expect(message).toBe(`As ${key.name}: Secret fleet/${key.name}.`);
  const { metadata, data, type } = await secret();
  expect(type).toBe('Opaque');
  expect(Object.keys(data ?? {})).toEqual(['kubeconfig']);
  expect(metadata.labels).toMatchObject({ 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true', team: 'a' });
  expect(metadata.finalizers).toBeUndefined();
});

it('the account may do what its ClusterRole says, and nothing else', async () => {
  const kubeconfig = publishedKubeconfig(await secret());
  expect(await askWith(kubeconfig)).toBe('allowed');
  const client = clientFromKubeconfig(new SecretString(kubeconfig));
  expect(await accessResult(client.list(Namespace))).toBe(403);
  await client.close();
});

it('M1: at rest it is byte-identical, and nothing is written', async () => {
  const before = await secret();
  let start = open().calls.length;
  const resyncs = () =>
    open()
      .calls.slice(start)
      .filter(({ simulator, name }) => simulator === 'workload' && /^GET .*\/serviceaccounts/.test(name)).length;
  await eventually('the last report of a new Cluster is written', async () => {
    const { status } = await open().objects.getCluster(cluster);
    return status?.conditions?.some(({ type }) => type === 'EtcdHasSpace');
  });
  start = open().calls.length;
  await eventually('the account was looked at twice more', () => resyncs() > 1);
  expect(providerWrites(open().calls.slice(start))).toEqual([]);
  expect((await secret()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

it('M16: what others change in it is corrected once, and keys of others stay', async () => {
  const before = await secret();
  const merge = (patch: object) => open().platform.merge(Secret, key, patch);
  await merge({ metadata: { labels: { 'sigs.k8s.io/multicluster-runtime-kubeconfig': null } } });
  await eventually('the label is back', async () => {
    expect((await secret()).metadata.labels).toEqual(before.metadata.labels);
    return true;
  });
  expect((await secret()).data).toEqual(before.data);
  await merge({ data: { kubeconfig: toBase64('another'), note: toBase64('mine') } });
  const after = await eventually('the kubeconfig is back', async () => {
    const now = await secret();
    return publishedKubeconfig(now) !== 'another' && now;
  });
  expect(after.data?.['note']).toBe(toBase64('mine'));
  expect(await askWith(publishedKubeconfig(after))).toBe('allowed');
});

it('M2: a renewed token changes the bytes once, under the same name, while the former one is valid', async () => {
  const before = await secret();
  await open().platform.merge(Secret, key, { metadata: { annotations: agedToken() } });
  const after = await eventually('the token is another', async () => {
    const now = await secret();
    return publishedKubeconfig(now) !== publishedKubeconfig(before) && now;
  });
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(shapeOf(publishedKubeconfig(after))).toBe(shapeOf(publishedKubeconfig(before)));
  expect(await askWith(publishedKubeconfig(before))).toBe('allowed');
  expect(await askWith(publishedKubeconfig(after))).toBe('allowed');
});

it('a lost account comes back with a token that works', async () => {
  const before = publishedKubeconfig(await secret());
  const id = publicationId(open().environment, 'talos', cluster, 'kubeconfigSecret');
  const account = { namespace: 'accessrequests', name: id };
  await withAdminClient(open(), cluster, (admin) => admin.remove(ServiceAccount, account));
  const after = await eventually('the token is another', async () => {
    const now = publishedKubeconfig(await secret());
    return now !== before && now;
  });
  expect(await askWith(after)).toBe('allowed');
  expect(await askWith(before)).toBe(401);
});

it('M3, M13: deletion withdraws the Secret and waits for its consumers before any machine is touched', async () => {
  const { objects, platform } = open();
  await platform.merge(Secret, key, { metadata: { finalizers: [foreignFinalizer] } });
  const start = open().calls.length;
  await objects.remove(Cluster, cluster);
  const held = await isPublished('False', 'WithdrawalHeld');
  expect(held).toContain(`Secret ${key.name} in namespace fleet is being deleted and is held by ${foreignFinalizer}`);
  expect(held).toContain('The deletion of the Cluster waits for it until');
  expect((await objects.machines(cluster)).filter(({ metadata }) => metadata.deletionTimestamp)).toEqual([]);
  expect(await askWith(publishedKubeconfig(await secret()))).toBe('allowed');
  await platform.merge(Secret, key, { metadata: { finalizers: null } });
  const gone = await isPublished('False', 'Withdrawing');
  expect(gone).toContain('Consumers get 30 seconds to let go');
  const goneAt = Date.now();
  expect(await objects.exists(Secret, key)).toBe(false);
  await eventually('machines are deleted', async () =>
    (await objects.machines(cluster)).some(({ metadata }) => metadata.deletionTimestamp),
  );
  expect(Date.now() - goneAt).toBeGreaterThan(25_000);
  const deleted = open()
    .calls.slice(start)
    .filter((call) => isProviderCall(call) && call.name.startsWith('DELETE'))
    .map(({ name }) => name);
  expect(deleted[0]).toContain(`/namespaces/fleet/secrets/${key.name}`);
  await eventually('the Cluster is gone', async () => !(await objects.exists(Cluster, cluster)));
});

/** A kubeconfig without its token. */
const shapeOf = (kubeconfig: string): string => kubeconfig.replace(/token: \S+/, 'token: X');
const toBase64 = (text: string): string => Buffer.from(text).toString('base64');

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
