import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { ClusterProperty, InventoryProfile } from '../../../src/controllers/publish/inventory/inventory-types.ts';
import { CustomResourceDefinition, Namespace, Secret } from '../../../src/kube/core-types.ts';
import { eventually } from '../../support/eventually.ts';
import { multiclusterCrd } from '../../support/fixtures/multicluster-crds.ts';
import { upgradeKubernetes } from '../support/access/change-nodes.ts';
import { agedToken, askWith, publishedHelpers, publishedKubeconfig, readerRole } from '../support/access/published.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { providerWrites } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.131', speed: 60 });
const cluster = { namespace: 'shop', name: 'main' };
const { name, secret, makeReaderRole, isPublished } = publishedHelpers(open, cluster);
const key = { namespace: 'fleet', name };
const profile = () => open().platform.get(InventoryProfile, key);
const inside = <T>(work: Parameters<typeof withAdminClient<T>>[2]) => withAdminClient(open(), cluster, work);
const properties = async () => {
  const { items } = await inside((admin) => admin.list(ClusterProperty));
  return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.value]));
};
const systemId = () =>
  inside(async (admin) => (await admin.get(Namespace, { name: 'kube-system' })).metadata.uid ?? '');

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    change: (spec) =>
      Object.assign(spec, {
        publish: {
          clusterProfile: { namespace: 'fleet', clusterRole: readerRole, clusterSet: 'homelab' },
          argoCD: { namespace: 'fleet', clusterRole: readerRole, labels: { env: 'test' } },
        },
      }),
  });
  await objects.ensureNamespace('fleet');
  await objects.cluster(cluster);
  await isPublished('False', 'ClusterRoleMissing');
  await makeReaderRole();
});

it('M15: kinds that are missing are named, with the cluster that lacks them, and are found when they are installed', async () => {
  const { platform } = open();
  expect(await isPublished('False', 'CrdMissing')).toContain('the platform cluster does not have');
  await platform.create(CustomResourceDefinition, multiclusterCrd('ClusterProfile'));
  await eventually('the kind of the other cluster is asked for', async () => {
    expect(await isPublished('False', 'CrdMissing')).toContain('the published cluster does not have');
    return true;
  });
  await inside((admin) => admin.create(CustomResourceDefinition, multiclusterCrd('ClusterProperty')));
  expect(await isPublished('True')).toBe(
    `As ${name}: ClusterProfile fleet/${name}, Argo CD Secret fleet/${name}-argocd.`,
  );
});

describe('the ClusterProfile', () => {
  it('M4, M11: names its manager in label and field, and is healthy with credentials that were tried', async () => {
    const { metadata, spec, status } = await profile();
    expect(metadata.labels?.['x-k8s.io/cluster-manager']).toBe('talos');
    expect(metadata.finalizers).toBeUndefined();
    expect(spec).toEqual({ displayName: 'shop/main', clusterManager: { name: 'talos' } });
    expect(status?.version?.kubernetes).toBe('v1.35.4');
    expect(status?.conditions).toMatchObject([
      { type: 'ControlPlaneHealthy', status: 'True', reason: 'ProbeSucceeded' },
      { type: 'Joined', status: 'True' },
    ]);
    expect(await askWith(publishedKubeconfig(await secret('-profile')))).toBe('allowed');
  });

  it('M6: has the inline CA and the place of the Secret, and nothing secret', async () => {
    const found = await profile();
    const [access] = found.status?.accessProviders ?? [];
    expect(access?.name).toBe('kubeconfig-secretreader');
    expect(access?.cluster.extensions).toEqual([
      {
        name: 'client.authentication.k8s.io/exec',
        extension: { name: `${name}-profile`, namespace: 'fleet', key: 'kubeconfig' },
      },
    ]);
    const kubeconfig = publishedKubeconfig(await secret('-profile'));
    expect(kubeconfig).toContain(access?.cluster['certificate-authority-data']);
    expect(kubeconfig).toContain(`server: ${access?.cluster.server}`);
    expect(JSON.stringify(found)).not.toContain(/token: (\S+)/.exec(kubeconfig)?.[1]);
  });

  it('M9, M10: has the properties of the membership, which are in the cluster as well', async () => {
    const id = await systemId();
    const membership = { 'cluster.clusterset.k8s.io': id, 'clusterset.k8s.io': 'homelab' };
    expect(await properties()).toEqual(membership);
    const said = Object.fromEntries((await profile()).status?.properties?.map((one) => [one.name, one.value]) ?? []);
    expect(said).toMatchObject({ ...membership, 'platform.talos.clusters.openmcp.cloud': 'truenas' });
  });

  it('M7: a renewed token touches the Secret only, and the former one stays valid', async () => {
    const before = { profile: await profile(), kubeconfig: publishedKubeconfig(await secret('-profile')) };
    const annotations = agedToken();
    await open().platform.merge(Secret, { ...key, name: `${name}-profile` }, { metadata: { annotations } });
    await eventually('the token is another', async () => {
      return publishedKubeconfig(await secret('-profile')) !== before.kubeconfig;
    });
    expect((await profile()).metadata.resourceVersion).toBe(before.profile.metadata.resourceVersion);
    expect(await askWith(before.kubeconfig)).toBe('allowed');
  });

  it('M5: at rest nothing is written', async () => {
    await eventually('the last report of a new Cluster is written', async () => {
      const { status } = await open().objects.getCluster(cluster);
      return status?.conditions?.some(({ type }) => type === 'EtcdHasSpace');
    });
    const before = await profile();
    const start = open().calls.length;
    const looks = () =>
      open()
        .calls.slice(start)
        .filter(({ simulator, name: call }) => simulator === 'kube' && /^GET .*clusterprofiles\/main/.test(call))
        .length;
    // It is looked at every ten minutes.
    await eventually('it was looked at twice', () => looks() > 1);
    expect(providerWrites(open().calls.slice(start))).toEqual([]);
    expect((await profile()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('M16: what others change in it is corrected, and their conditions stay', async () => {
    const before = await profile();
    const other = {
      type: 'Placed',
      status: 'True',
      reason: 'Scheduler',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await open().platform.merge(
      InventoryProfile,
      key,
      { status: { properties: [], conditions: [...(before.status?.conditions ?? []), other] } },
      { subresource: 'status' },
    );
    const after = await eventually('the properties are back', async () => {
      const now = await profile();
      expect(now.status?.properties).toEqual(before.status?.properties);
      return now;
    });
    expect(after.status?.conditions).toContainEqual(other);
  });

  it('M5: follows an upgrade of Kubernetes with its version, and stays the same profile with the same credentials', async () => {
    const [before, kubeconfig] = [await profile(), publishedKubeconfig(await secret('-profile'))];
    await upgradeKubernetes(open(), cluster, '1.36.1');
    const after = await eventually('the version is the new one', async () => {
      const now = await profile();
      return now.status?.version?.kubernetes === 'v1.36.1' && now;
    });
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.spec).toEqual(before.spec);
    expect(after.status?.accessProviders).toEqual(before.status?.accessProviders);
    expect(publishedKubeconfig(await secret('-profile'))).toBe(kubeconfig);
    expect(await askWith(kubeconfig)).toBe('allowed');
  });
});

it('Argo CD gets a cluster Secret in its own format', async () => {
  const { metadata, data = {} } = await secret('-argocd');
  expect(metadata.labels).toMatchObject({ 'argocd.argoproj.io/secret-type': 'cluster', env: 'test' });
  const read = (field: string): string => Buffer.from(data[field] ?? '', 'base64').toString();
  expect(Object.keys(data).sort()).toEqual(['config', 'name', 'server']);
  expect(read('name')).toBe(name);
  const { bearerToken, tlsClientConfig } = JSON.parse(read('config')) as {
    bearerToken: string;
    tlsClientConfig: { caData: string };
  };
  const kubeconfig = publishedKubeconfig(await secret('-profile'));
  expect(kubeconfig).toContain(`server: ${read('server')}`);
  expect(kubeconfig).toContain(`certificate-authority-data: ${tlsClientConfig.caData}`);
  // Each form has an account of its own.
  expect(kubeconfig).not.toContain(bearerToken);
  expect(await askWith(kubeconfig.replace(/token: \S+/, `token: ${bearerToken}`))).toBe('allowed');
});

it('a section that is removed is withdrawn, with its account and the membership of the cluster', async () => {
  const before = publishedKubeconfig(await secret('-profile'));
  const change = async (publish: object) => {
    await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { publish } });
  };
  await change({ clusterProfile: null });
  await eventually('the profile and its Secret are gone', async () => {
    expect(await open().objects.exists(InventoryProfile, key)).toBe(false);
    return !(await open().objects.exists(Secret, { ...key, name: `${name}-profile` }));
  });
  await eventually('its token is of no use any more', async () => (await askWith(before)) === 401);
  await eventually('the cluster is no member any more', async () => {
    expect(await properties()).toEqual({});
    return true;
  });
  await eventually('the condition names what is left', async () => {
    expect(await isPublished('True')).toBe(`As ${name}: Argo CD Secret fleet/${name}-argocd.`);
    return true;
  });
});

it('M16: an object of others with the name of ours is not touched', async () => {
  const { platform } = open();
  const mine = { apiVersion: 'v1', kind: 'Secret', metadata: { ...key }, data: { kubeconfig: 'bWluZQ==' } };
  const before = await platform.create(Secret, mine);
  const section = { namespace: 'fleet', clusterRole: readerRole };
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { publish: { kubeconfigSecret: section } } });
  expect(await isPublished('False', 'NotManaged')).toContain(`Secret ${name} exists in namespace fleet`);
  expect((await platform.get(Secret, key)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { publish: { kubeconfigSecret: null } } });
  await isPublished('True');
  expect((await platform.get(Secret, key)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

it('a Cluster that is not published any more is deleted without delay', async () => {
  const { platform, objects } = open();
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { publish: null } });
  await eventually('the condition and the finalizer are gone', async () => {
    const { metadata, status } = await objects.getCluster(cluster);
    expect(metadata.finalizers?.filter((one) => one.includes('/publication-'))).toEqual([]);
    expect(status?.providerStatus?.['published']).toBeUndefined();
    return !status?.conditions?.some(({ type }) => type === 'Published');
  });
  await objects.remove(Cluster, cluster);
  await eventually('it is gone', async () => !(await objects.exists(Cluster, cluster)));
});

it('the provider logs no fault of its own', () => {
  expect(open().faults()).toEqual([]);
});
