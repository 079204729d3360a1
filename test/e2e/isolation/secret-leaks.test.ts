import { expect, it } from 'vitest';
import { clusterSecretsName, openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { grantedKubeconfig, readSecretsBundle } from '../support/access/workload-cluster.ts';
import { collectSecrets, findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.106' });
const ref = { namespace: 'shop', name: 'main' };
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };
const wrongKey = `1-${'WrongKey'.repeat(8)}`;

const grantedTokens = (): number =>
  collectSecrets(open()).filter(({ what }) => what === 'the token of main.kubeconfig').length;
const isReady = async (): Promise<boolean> => (await open().objects.getCluster(ref)).status?.phase === 'Ready';

/** A lifecycle with as many errors as possible: error messages are the likeliest place for a leak. */
prepareTestbed(open, async ({ objects, platform, world, namespace }) => {
  const { switchboard } = world;
  const broken = { kind: 'error', status: 500 } as const;
  switchboard.fail('truenas', /^(pool\.dataset|vm)\.(create|query)$/, { kind: 'drop' }, 3, 5);
  switchboard.fail('truenas', /^vm\.device\.create$/, { kind: 'error' }, 2);
  switchboard.fail('truenas', /^POST \/_upload$/, broken, 1, 1);
  switchboard.fail('talos', /Bootstrap$/, { kind: 'error' }, 1);
  switchboard.fail('workload', /kube-system$/, { kind: 'error', status: 401 }, 2);
  switchboard.fail('workload', /\/token$/, broken, 2);
  switchboard.fail('kube', /^POST .*\/secrets$/, { kind: 'lose-reply' }, 2);
  await objects.credentials();
  await objects.credentials('wrong-key', { ...objects.goodCredentials(), apiKey: wrongKey });
  await objects.config('wrong', {
    change: (spec) => Object.assign(spec.truenas, { credentialsRef: { name: 'wrong-key' } }),
  });
  await objects.config('home', {
    change: (spec) =>
      Object.assign(spec.truenas, {
        sizes: [{ name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20, encrypted: true }],
      }),
  });
  await objects.cluster(ref);
  await objects.request(ref, { clusterRef: ref, token });
  await eventually('the Cluster is ready', isReady, 90);
  await eventually('access is granted', async () => (await objects.getRequest(ref)).status?.phase === 'Granted');

  await objects.annotate(AccessRequest, ref, { [openmcpKeys.operation]: 'reconcile' });
  await eventually('the token was renewed', () => grantedTokens() > 1);

  // The rest is no valid secrets bundle any more, but still contains keys.
  const bundle = { namespace, name: clusterSecretsName(ref) };
  const { data } = await platform.get(Secret, bundle);
  const text = Buffer.from(data?.[secretsBundleKey] ?? '', 'base64').toString();
  const spoilt = Buffer.from(text.replace(/^( +)key: .{200}/m, '$1key: nonsense')).toString('base64');
  await platform.merge(Secret, bundle, { data: { [secretsBundleKey]: spoilt } });
  await objects.annotate(Cluster, ref, { [openmcpKeys.operation]: 'reconcile' });
  await objects.annotate(AccessRequest, ref, { [openmcpKeys.operation]: 'reconcile' });
  const isDamaged = async () =>
    (await objects.getCluster(ref)).status?.conditions?.some(({ reason }) => reason === 'SecretsDamaged');
  await eventually('the Cluster says that its secrets are damaged', isDamaged);
  await platform.merge(Secret, bundle, { data: { [secretsBundleKey]: data?.[secretsBundleKey] } });
  await eventually('the Cluster is ready again', isReady);
  await objects.credentials('truenas', { ...objects.goodCredentials(), apiKey: wrongKey });
  await objects.annotate(ProviderConfig, { name: 'home' }, { [openmcpKeys.operation]: 'reconcile' });
  await eventually('the key is refused', async () => (await objects.getConfig('home')).status?.phase === 'Progressing');
  await objects.credentials();
  await eventually('the key is good', async () => (await objects.getConfig('home')).status?.phase === 'Ready');
});

it('knows every secret of the run', () => {
  const kinds = collectSecrets(open()).map(({ what }) => what.replace(/ of main.*-(talos|disk-key)$/, ''));
  expect(kinds).toEqual(
    expect.arrayContaining([
      'an API key',
      'the discovery secret',
      'the bootstrap token',
      'the machine token',
      'the encryption key',
      'the passphrase',
      'a private key',
      'the token of main.kubeconfig',
    ]),
  );
  expect(kinds.filter((kind) => kind === 'a private key').length).toBeGreaterThan(6);
  expect(grantedTokens()).toBeGreaterThan(1);
});

it('C17, T55: finds none of them, raw or encoded, in logs, events, statuses, conditions and labels', () => {
  expect(findSecretLeaks(open())).toEqual([]);
});

it('finds none of them in objects readable on the NAS, but for the seed that the machine boots from', () => {
  const { vms, datasets, devices } = open().world.truenas.dump();
  const seen = JSON.stringify([vms, datasets, devices]);
  expect(collectSecrets(open()).filter(({ text }) => seen.includes(text))).toEqual([]);
});

it('finds a planted secret: raw, encoded, and encoded inside of another value', async () => {
  const testbed = open();
  const { objects, recorder } = testbed;
  const { bootstrapToken } = await readSecretsBundle(testbed, ref);
  const hide = (note: string): Record<string, string> => ({ note });
  const kubeconfig = await grantedKubeconfig(testbed, ref);
  await objects.annotate(Cluster, ref, hide(`oops ${bootstrapToken.reveal()}`));
  await objects.annotate(AccessRequest, ref, hide(Buffer.from(kubeconfig).toString('base64')));
  await objects.annotate(ProviderConfig, { name: 'home' }, hide(Buffer.from(`{"${wrongKey}"}`).toString('base64')));
  await eventually('all of it was seen', () =>
    [Cluster, AccessRequest, ProviderConfig].every((type) =>
      recorder.of(type as typeof Cluster).some(({ object }) => object.metadata.annotations?.['note']),
    ),
  );
  const found = findSecretLeaks(testbed).map((leak) => leak.replace(/ of main-[a-z0-9]+-talos/, ''));
  expect(found).toEqual(
    expect.arrayContaining([
      'the bootstrap token in Cluster main',
      'the token of main.kubeconfig in AccessRequest main',
      'an API key in ProviderConfig home',
    ]),
  );
});
