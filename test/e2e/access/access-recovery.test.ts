import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { clusterSecretsName } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { secretsBundleKey } from '../../../src/controllers/shared/secrets/cluster-secrets.ts';
import {
  ClusterRoleBinding,
  Secret as KubeSecret,
  Namespace,
  Role,
  ServiceAccount,
} from '../../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { readMachineConfig } from '../../../src/talos/client/api-server-pod.ts';
import { createSecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../../src/talos/secrets/secrets-bundle-file.ts';
import { consistently, eventually } from '../../support/eventually.ts';
import { accessHelpers, coreReadRules } from '../support/access/access-helpers.ts';
import {
  accessSecret,
  ConfigMap,
  grantedKubeconfig,
  openGrantedClient,
  readSecretsBundle,
  withTalosAdminClient,
} from '../support/access/workload-cluster.ts';
import { isProviderCall } from '../support/observation/provider-calls.ts';
import { InProcessReplica } from '../support/provider-process/provider-replica.ts';
import { WallClock } from '../support/provider-process/wall-clock.ts';
import { startReplicaTestbed } from '../support/testbed/replica-testbed.ts';
import { prepareTestbed } from '../support/testbed/testbed-hooks.ts';

/** The checks that the provider makes every ten minutes take place every five seconds here. */
const speed = 120;
const day = 24 * 3600;
const cluster = { namespace: 'shop', name: 'main' };
const wallClock = new WallClock();
const open = startReplicaTestbed({ subnet: '127.42.142', speed }, async (testbed) => [
  await InProcessReplica.open(testbed, { name: 'talos-0', address: '127.42.142.201', leaseSeconds: 30, wallClock }),
]);
const testbed = () => open().testbed;
const { admin, ask, granted, isGranted, isReady, ref } = accessHelpers(testbed, cluster);
const token = {
  permissions: [{ rules: coreReadRules('configmaps') }, { namespace: 'inside', rules: coreReadRules('secrets') }],
};

prepareTestbed(testbed, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', { controlPlanes: 1 });
  await objects.cluster(cluster);
  await isReady();
  await granted('first', token);
});

/** Waits until the request holds new credentials that open the cluster, as the old ones did. */
async function isGrantedAnew(name: string, before: string): Promise<void> {
  await eventually(`what ${name} was granted is another`, async () => {
    const now = await grantedKubeconfig(testbed(), ref(name));
    return now !== '' && now !== before;
  });
  await eventually(
    `and opens the cluster`,
    async () => (await ask(name, (kube) => kube.list(ConfigMap))) === 'allowed',
  );
  await isGranted(name);
}

describe('objects deleted by hand in the cluster come back, together with a new token:', () => {
  it('the ServiceAccount', async () => {
    const before = await grantedKubeconfig(testbed(), ref('first'));
    const held = await openGrantedClient(testbed(), ref('first'));
    await admin(async (kube) => {
      for (const { metadata } of (await kube.list(ServiceAccount, { namespace: 'accessrequests' })).items)
        if (metadata.name !== 'default') await kube.remove(ServiceAccount, { ...metadata });
    });
    await isGrantedAnew('first', before);
    await expect(held.list(ConfigMap)).rejects.toMatchObject({ status: 401 });
    await held.close();
  });

  it('the namespace of all accounts', async () => {
    const before = await grantedKubeconfig(testbed(), ref('first'));
    await admin((kube) => kube.remove(Namespace, { name: 'accessrequests' }));
    await isGrantedAnew('first', before);
  });

  it('the namespace of the granted permissions', async () => {
    await admin((kube) => kube.remove(Namespace, { name: 'inside' }));
    await eventually('it is back', () =>
      admin(async (kube) => (await kube.list(Role, { namespace: 'inside' })).items[0]),
    );
    const secrets = (kube: Parameters<Parameters<typeof ask>[1]>[0]) => kube.list(KubeSecret, { namespace: 'inside' });
    await eventually('and the rights in it', async () => (await ask('first', secrets)) === 'allowed');
  });

  it('a binding', async () => {
    await admin(async (kube) => {
      for (const { metadata } of (await kube.list(ClusterRoleBinding)).items)
        if (metadata.name.startsWith('openmcp:')) await kube.remove(ClusterRoleBinding, { ...metadata });
    });
    await eventually('it is back', async () => (await ask('first', (kube) => kube.list(ConfigMap))) === 'allowed');
  });
});

describe('a role that does not exist yet', () => {
  it.each(['Role', 'ClusterRole'] as const)(
    'of kind %s can be bound, and takes effect when it is created',
    async (kind) => {
      const name = `later-${kind.toLowerCase()}`;
      const place = kind === 'Role' ? { namespace: 'inside' } : {};
      await granted(name, { roleRefs: [{ kind, name, ...place }] });
      const look = () => ask(name, (kube) => kube.list(ConfigMap, place));
      expect(await look()).toBe(403);
      const type = kind === 'Role' ? Role : { ...Role, kind, plural: 'clusterroles', namespaced: false };
      const role = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind,
        metadata: { name, ...place },
        rules: coreReadRules('configmaps'),
      };
      await admin((kube) => kube.create(type as ResourceType, role as KubeObject));
      await eventually('it counts', async () => (await look()) === 'allowed');
    },
  );
});

/**
 * Gives the only control plane another configuration, as a user does with `talosctl patch machineconfig`. The provider
 * corrects it at a time of its own, which restarts kube-apiserver: no single call succeeds for sure afterwards.
 */
async function patchNode(change: (cluster: Record<string, unknown>) => void): Promise<void> {
  const [machine] = await testbed().objects.machines(cluster);
  const address = machine?.status?.address ?? '';
  await withTalosAdminClient(testbed(), cluster, address, async (node) => {
    const documents = parseAllDocuments((await readMachineConfig(node, {})).reveal());
    const [first, ...others] = documents.map((document) => document.toJS() as Record<string, unknown>);
    change(first?.['cluster'] as Record<string, unknown>);
    const text = [first, ...others].map((document) => JSON.stringify(document)).join('\n---\n');
    await node.applyConfiguration(new SecretString(text), 'no-reboot');
  });
}

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('after a change of the cluster', () => {
  it('to another signing key, the Secret holds a token signed with that key', async () => {
    const before = await grantedKubeconfig(testbed(), ref('first'));
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ format: 'pem', type: 'pkcs1' }).toString();
    await patchNode((config) => Object.assign(config, { serviceAccount: { key: toBase64(key) } }));
    await isGrantedAnew('first', before);
  });

  it('to another certificate authority, the Secret trusts that authority', async () => {
    const before = await grantedKubeconfig(testbed(), ref('first'));
    const bundle = await readSecretsBundle(testbed(), cluster);
    const old = bundle.authorities.kubernetes;
    const { authorities } = await createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });
    const now = authorities.kubernetes;
    await patchNode((config) => {
      const pair = { crt: toBase64(now.certificate), key: toBase64(now.key.reveal()) };
      Object.assign(config, { ca: pair, acceptedCAs: [{ crt: toBase64(old.certificate) }] });
    });
    const changed = formatSecretsBundle({ ...bundle, authorities: { ...bundle.authorities, kubernetes: now } });
    const data = { [secretsBundleKey]: toBase64(changed.reveal()) };
    const key = { namespace: testbed().namespace, name: clusterSecretsName(cluster) };
    await testbed().platform.merge(KubeSecret, key, { data });
    // By hand, and not by a rotation: the record has to forget the former authority.
    const record = { kubernetesCa: null };
    await testbed().platform.merge(
      Cluster,
      cluster,
      { status: { providerStatus: { record } } },
      { subresource: 'status' },
    );
    await isGrantedAnew('first', before);
    expect(await grantedKubeconfig(testbed(), ref('first'))).toContain(toBase64(now.certificate));
  });
});

/** The provider corrects what was changed by hand, and access is granted again each time. */
async function everythingIsCorrected(): Promise<void> {
  await eventually('no Secret is written any more', async () => {
    const { status } = await testbed().objects.getCluster(cluster);
    const start = testbed().calls.length;
    await pause(1000);
    return isConditionTrue(status?.conditions, 'UpToDate') && secretWritesSince(start).length === 0;
  });
}

const secretWritesSince = (start: number) =>
  testbed()
    .calls.slice(start)
    .filter((call) => isProviderCall(call) && /\/secrets/.test(call.name) && !call.name.startsWith('GET'));

describe('a cluster that cannot be reached while a token is due for renewal', () => {
  it('for an hour: the granted access stays, and is renewed as soon as the cluster answers', async () => {
    await everythingIsCorrected();
    const before = await grantedKubeconfig(testbed(), ref('first'));
    const { data } = await accessSecret(testbed(), ref('first'));
    const now = Math.floor(Date.now() / 1000);
    const at = (seconds: number): string => toBase64(String(now + seconds));
    open().pod.network.cut('refused', { to: /:6443$/ });
    // Due for renewal in half an hour by the provider's clock, and valid for six days after that.
    const times = { creationTimestamp: at(1800 - 24 * day), expirationTimestamp: at(1800 + 6 * day) };
    await testbed().platform.merge(KubeSecret, ref('first.kubeconfig'), { data: { ...data, ...times } });
    wallClock.set(1);
    const start = testbed().calls.length;
    await eventually('the cluster is said not to answer', async () => {
      const { status } = await testbed().objects.getRequest(ref('first'));
      return status?.conditions?.some(({ type, status: is }) => type === 'ClusterReady' && is === 'False');
    });
    await consistently(3, async () => expect(await open().isGranted(ref('first'))).toBe(true));
    expect(await grantedKubeconfig(testbed(), ref('first'))).toBe(before);
    expect(secretWritesSince(start)).toEqual([]);
    open().pod.network.heal();
    await isGrantedAnew('first', before);
    wallClock.set(0);
  });
});

it('the provider logs no fault of its own', () => {
  expect(open().pod.faults()).toEqual([]);
});
