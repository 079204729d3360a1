import { describe, expect, it } from 'vitest';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import { accessResult, accessSecret, ConfigMap, openGrantedClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.42' });
const cluster = { namespace: 'shop', name: 'main' };
const { ask, granted, isGranted, isReady, objectsOf, ref, refusal: rejection } = accessHelpers(open, cluster);

const maps = { permissions: [{ rules: coreReadRules('configmaps') }] };
const secretRef = (name: string) => ({ namespace: 'shop', name: `${name}.kubeconfig` });
const patchSecret = (name: string, patch: object) => open().platform.merge(Secret, secretRef(name), patch);
const renew = (name: string) =>
  open().objects.annotate(AccessRequest, ref(name), { 'openmcp.cloud/operation': 'reconcile' });
/** The part of a Secret that changes with the renewal of a token. */
const tokenOf = async (name: string): Promise<string | undefined> =>
  (await open().platform.get(Secret, secretRef(name))).data?.['kubeconfig'];
const isRenewed = async (name: string): Promise<void> => {
  const before = await tokenOf(name);
  await renew(name);
  await eventually('it is renewed', async () => (await tokenOf(name)) !== before);
};
const refOf = async (name: string) => (await open().objects.getRequest(ref(name))).status?.secretRef;

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(cluster);
  await isReady();
});

describe('the Secret of a request', () => {
  const others = {
    metadata: {
      labels: { 'example.org/team': 'blue' },
      annotations: { 'example.org/note': 'copied to the shop' },
      finalizers: ['example.org/copy'],
    },
    data: { extra: Buffer.from('theirs').toString('base64') },
  };

  it('C63: keeps foreign labels, annotations, finalizers and keys when a token is renewed', async () => {
    await granted('shared', maps);
    await patchSecret('shared', others);
    await isRenewed('shared');
    expect(await accessSecret(open(), ref('shared'))).toMatchObject(others);
    expect(await ask('shared', (holder) => holder.list(ConfigMap))).toBe('allowed');
  });

  it('C69: keeps them when the request changes to OIDC, and loses the times of the token', async () => {
    const oidc = { name: 'corp', issuer: 'https://issuer.example.org', clientID: 'x', roleBindings: [] };
    await open().platform.merge(AccessRequest, ref('shared'), { spec: { token: null, oidc } });
    await isGranted('shared');
    const secret = await accessSecret(open(), ref('shared'));
    expect(secret).toMatchObject(others);
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['extra', 'kubeconfig']);
    await patchSecret('shared', { metadata: { finalizers: null } });
  });

  it('is reported as immutable, and is created again after its removal', async () => {
    await granted('frozen', maps);
    await patchSecret('frozen', { immutable: true });
    expect(await rejection('frozen', 'AccessReady', 'SecretNotWritable')).toBe(
      'Secret frozen.kubeconfig in namespace shop is immutable: the kubeconfig cannot be written. Remove the Secret; it is created again.',
    );
    expect(await refOf('frozen')).toEqual({ name: 'frozen.kubeconfig' });
    await open().objects.remove(Secret, secretRef('frozen'));
    await isGranted('frozen');
  });

  it('is reported as of a foreign type', async () => {
    const { metadata } = await granted('typed', maps);
    const { ownerReferences } = (await accessSecret(open(), ref('typed'))).metadata;
    await open().provider.stop();
    await open().objects.remove(Secret, secretRef('typed'));
    await open().platform.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...secretRef('typed'), ...(ownerReferences && { ownerReferences }) },
      type: 'example.org/other',
    });
    open().provider.start();
    expect(await rejection('typed', 'AccessReady', 'SecretNotWritable')).toBe(
      'Secret typed.kubeconfig in namespace shop has the type example.org/other instead of Opaque: the kubeconfig cannot be written. Remove the Secret; it is created again.',
    );
    expect(ownerReferences?.[0]?.uid).toBe(metadata.uid);
    await open().objects.remove(Secret, secretRef('typed'));
    await isGranted('typed');
  });

  it('is named in the status as long as it exists, also when the request can no longer be granted', async () => {
    await granted('spoiled', maps);
    const token = { roleRefs: [{ kind: 'Role', name: 'homeless' }] };
    await open().platform.merge(AccessRequest, ref('spoiled'), { spec: { token } });
    await rejection('spoiled', 'AccessReady', 'InvalidConfig');
    expect(await open().objects.exists(Secret, secretRef('spoiled'))).toBe(true);
    expect(await refOf('spoiled')).toEqual({ name: 'spoiled.kubeconfig' });
  });
});

describe('the end of a request', () => {
  it('leaves its Secret to garbage collection while foreign finalizers hold the request, without access', async () => {
    await granted('held', maps);
    const holder = await openGrantedClient(open(), ref('held'));
    const { metadata } = await open().objects.getRequest(ref('held'));
    const held = [...(metadata.finalizers ?? []), 'clusters.openmcp.cloud/clusteraccess'];
    await open().platform.merge(AccessRequest, ref('held'), { metadata: { finalizers: held } });
    await open().objects.remove(AccessRequest, ref('held'));
    await eventually('we let it go', async () => {
      const { finalizers: left } = (await open().objects.getRequest(ref('held'))).metadata;
      expect(left).toEqual(['clusters.openmcp.cloud/clusteraccess']);
      return true;
    });
    expect(await open().objects.exists(Secret, secretRef('held'))).toBe(true);
    expect(await objectsOf('held')).toEqual([]);
    expect(await accessResult(holder.list(ConfigMap))).toBe(401);
    await holder.close();
    await open().platform.merge(AccessRequest, ref('held'), { metadata: { finalizers: null } });
  });
});

describe('a request whose Cluster is gone', () => {
  it('C71: is Pending, although its token is valid for another month', async () => {
    await granted('orphan', maps);
    await open().objects.remove(Cluster, cluster);
    await eventually('the Cluster is gone', async () => !(await open().objects.exists(Cluster, cluster)), 60);
    expect(await rejection('orphan', 'ClusterReady', 'ClusterMissing')).toContain('there is no Cluster shop/main');
    expect(await refOf('orphan')).toEqual({ name: 'orphan.kubeconfig' });
    await open().objects.remove(AccessRequest, ref('orphan'));
    await eventually('it is gone', async () => !(await open().objects.exists(AccessRequest, ref('orphan'))));
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
