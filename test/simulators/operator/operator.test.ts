import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openmcpKeys } from '../../../src/api/names.ts';
import { AccessRequest, Cluster, ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { type KubeObject, objectKeyOf, type ResourceType } from '../../../src/kube/resource.ts';
import { loadApiServerConnection } from '../../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../../src/kube/transport/transport.ts';
import { hashNames } from '../../../src/lib/hash.ts';
import { noLog } from '../../../src/lib/log.ts';
import { missingForRealKube, startRealKube } from '../../peers/kube-apiserver.ts';
import { missingForRealOperator, startRealOperator } from '../../peers/openmcp-operator.ts';
import { ClusterRequest } from '../../world/operator/cluster-request.ts';
import { operatorSimulator } from '../../world/operator/index.ts';
import { installOpenmcpKinds, systemNamespace } from '../../world/operator/install-openmcp.ts';
import { startTestPlatformCluster } from '../../world/operator/platform-cluster-fixture.ts';

/** The same for both, in the operator's own format. */
const config = {
  scheduler: {
    purposeMappings: {
      own: { template: { spec: { profile: 'dev.talos.small', tenancy: 'Exclusive' } } },
      pair: { tenancyCount: 2, template: { spec: { profile: 'p', tenancy: 'Shared', purposes: ['other'] } } },
      all: { template: { metadata: { namespace: systemNamespace }, spec: { profile: 'p', tenancy: 'Shared' } } },
      kept: {
        template: {
          metadata: {
            generateName: 'kept-x-',
            labels: { 'clusters.openmcp.cloud/delete-without-requests': 'false', a: 'b' },
            annotations: { c: 'd' },
          },
          spec: { profile: 'p', tenancy: 'Exclusive', kubernetes: { version: '1.35.4' } },
        },
      },
    },
  },
};

interface RunningOperatorUnderTest {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

async function startSimulated(): Promise<RunningOperatorUnderTest> {
  const platform = await startTestPlatformCluster();
  const operator = await operatorSimulator.start({
    ...platform.options,
    extra: { kubeconfig: platform.kubeconfig },
    seed: config,
  });
  const close = async () => {
    await operator.close();
    await platform.close();
  };
  return { kubeconfig: platform.kubeconfig, close };
}

async function startReal(): Promise<RunningOperatorUnderTest> {
  const kube = await startRealKube();
  const client = new KubeClient(new Transport(loadApiServerConnection({ path: kube.kubeconfigPath })), {
    fieldManager: 'tests',
  });
  await installOpenmcpKinds(client, noLog, AbortSignal.timeout(30_000));
  await client.close();
  const { kubeconfigPath: kubeconfig } = kube;
  const operator = await startRealOperator({ kubeconfig, config, namespace: systemNamespace });
  const close = async () => {
    await operator.close();
    await kube.close();
  };
  return { kubeconfig, close };
}

const timeoutMilliseconds = 25_000;

describe.each([
  { who: 'the simulated operator', missing: undefined, start: startSimulated },
  {
    who: 'the real openmcp-operator',
    missing: missingForRealOperator() ?? missingForRealKube(),
    start: startReal,
  },
])('$who', ({ missing, start }) => {
  if (missing) {
    test('fulfils the contract', ({ skip }) => skip(missing));
    return;
  }
  let operating: RunningOperatorUnderTest;
  let kube: KubeClient;
  let namespace: string;
  let count = 0;

  beforeAll(async () => {
    operating = await start();
    kube = new KubeClient(new Transport(loadApiServerConnection({ path: operating.kubeconfig })), {
      fieldManager: 'tests',
    });
  }, 90_000);
  afterAll(async () => {
    await kube?.close();
    await operating?.close();
  });
  beforeEach(async () => {
    count += 1;
    namespace = `team-${count}`;
    await kube.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  });

  const create = async <T extends KubeObject>(type: ResourceType<T>, name: string, rest: object): Promise<T> => {
    const { metadata, ...body } = rest as { metadata?: object };
    const key = type.namespaced ? { namespace, name } : { name };
    return await kube.create(type, { ...body, metadata: { ...metadata, ...key } } as unknown as T);
  };
  const get = async <T extends KubeObject>(object: T, type: ResourceType<T>) =>
    await kube.find(type, objectKeyOf(object));
  const eventually = async <T extends KubeObject>(
    type: ResourceType<T>,
    object: T,
    assertion: (current: T) => void,
  ): Promise<T> =>
    await expect
      .poll(
        async () => {
          const current = await kube.get(type, objectKeyOf(object));
          assertion(current);
          return current;
        },
        { timeout: timeoutMilliseconds, interval: 50 },
      )
      .toBeTruthy()
      .then(() => kube.get(type, objectKeyOf(object)));
  const eventuallyGone = async <T extends KubeObject>(type: ResourceType<T>, object: T) =>
    await expect
      .poll(async () => await get(object, type), { timeout: timeoutMilliseconds, interval: 50 })
      .toBeUndefined();

  const request = async (name: string, purpose: string, metadata: object = {}) =>
    await create(ClusterRequest, name, { metadata, spec: { purpose } });
  const granted = async (object: ClusterRequest) => {
    const current = await eventually(ClusterRequest, object, ({ status }) => expect(status?.phase).toBe('Granted'));
    const cluster = await kube.get(Cluster, current.status?.cluster ?? { name: '' });
    return { request: current, cluster };
  };
  const tenant = ({ metadata }: KubeObject) => `request.clusters.openmcp.cloud/${metadata.uid}`;

  describe('the scheduler', () => {
    test('creates an exclusive Cluster with the name of its request, and grants at once', async () => {
      const prefix = openmcpKeys.metadataPrefix;
      const made = await request('a', 'own', {
        labels: { [`${prefix}cost`]: '1', x: 'y' },
        annotations: { [`${prefix}n`]: 'z' },
      });
      const { request: done, cluster } = await granted(made);
      expect(done.metadata.finalizers).toEqual(['clusters.openmcp.cloud/request']);
      expect(done.status).toMatchObject({ observedGeneration: 1, cluster: { namespace } });
      expect(cluster.metadata).toMatchObject({
        name: `own-${hashNames(namespace, 'a')}`,
        labels: { 'clusters.openmcp.cloud/delete-without-requests': 'true', [`${prefix}cost`]: '1' },
        annotations: { [`${prefix}n`]: 'z' },
        finalizers: [tenant(made)],
      });
      expect(cluster.metadata.labels).not.toHaveProperty('x');
      expect(cluster.spec).toEqual({
        profile: 'dev.talos.small',
        tenancy: 'Exclusive',
        purposes: ['own'],
        kubernetes: {},
      });
    });

    test('leaves a request for an unknown purpose pending', async () => {
      const made = await request('a', 'nobody-knows');
      const { status } = await eventually(ClusterRequest, made, (r) => expect(r.status?.phase).toBe('Pending'));
      expect(status).toMatchObject({ observedGeneration: 1 });
      expect(status).not.toHaveProperty('cluster');
    });

    test('fills a shared Cluster up to its limit before it creates another', async () => {
      const clusters: string[] = [];
      for (const name of ['a', 'b', 'c'])
        clusters.push((await granted(await request(name, 'pair'))).cluster.metadata.name);
      expect(clusters[1]).toBe(clusters[0]);
      expect(clusters[2]).not.toBe(clusters[0]);
      const first = await kube.get(Cluster, { namespace, name: clusters[0] ?? '' });
      expect(first.metadata.finalizers).toHaveLength(2);
      expect(first.spec.purposes).toEqual(['other', 'pair']);
      for (const name of ['a', 'b', 'c']) await kube.remove(ClusterRequest, { namespace, name });
      for (const name of clusters) await eventuallyGone(Cluster, { ...first, metadata: { name, namespace } });
    });

    test('shares one Cluster of the plain name without limit, and deletes it with the last request', async () => {
      const [a, b] = [await granted(await request('a', 'all')), await granted(await request('b', 'all'))];
      expect(a.cluster.metadata).toMatchObject({ name: 'all', namespace: systemNamespace });
      expect(b.cluster.metadata.uid).toBe(a.cluster.metadata.uid);
      await kube.remove(ClusterRequest, objectKeyOf(a.request));
      await eventuallyGone(ClusterRequest, a.request);
      const left = await kube.get(Cluster, objectKeyOf(a.cluster));
      expect(left.metadata.finalizers).toEqual([tenant(b.request)]);
      expect(left.metadata.deletionTimestamp).toBeUndefined();
      await kube.remove(ClusterRequest, objectKeyOf(b.request));
      await eventuallyGone(Cluster, a.cluster);
    });

    test('applies the template, and keeps a Cluster with delete-without-requests set to false', async () => {
      const { request: done, cluster } = await granted(await request('a', 'kept'));
      expect(cluster).toMatchObject({
        metadata: {
          name: `kept-x-${hashNames(namespace, 'a')}`,
          labels: { 'clusters.openmcp.cloud/delete-without-requests': 'false', a: 'b' },
          annotations: { c: 'd' },
        },
        spec: { kubernetes: { version: '1.35.4' }, purposes: ['kept'] },
      });
      await kube.remove(ClusterRequest, objectKeyOf(done));
      await eventuallyGone(ClusterRequest, done);
      const left = await kube.get(Cluster, objectKeyOf(cluster));
      expect(left.metadata.deletionTimestamp).toBeUndefined();
      expect(left.metadata.finalizers ?? []).toEqual([]);
    });

    test("does not wait for a provider's finalizer when a request is deleted", async () => {
      const { request: done, cluster } = await granted(await request('a', 'own'));
      const finalizers = [...(cluster.metadata.finalizers ?? []), 'example.org/provider'];
      await kube.merge(Cluster, objectKeyOf(cluster), { metadata: { finalizers } });
      await kube.remove(ClusterRequest, objectKeyOf(done));
      await eventuallyGone(ClusterRequest, done);
      const left = await kube.get(Cluster, objectKeyOf(cluster));
      expect(left.metadata).toMatchObject({ finalizers: ['example.org/provider'] });
      expect(left.metadata.deletionTimestamp).toBeDefined();
      await kube.merge(Cluster, objectKeyOf(cluster), { metadata: { finalizers: null } });
    });

    test('does nothing under the annotation ignore, and acts after its removal', async () => {
      const made = await request('a', 'own', { annotations: { [openmcpKeys.operation]: 'ignore' } });
      await granted(await request('b', 'own'));
      expect(await get(made, ClusterRequest)).not.toHaveProperty('status');
      await kube.merge(ClusterRequest, objectKeyOf(made), {
        metadata: { annotations: { [openmcpKeys.operation]: null } },
      });
      await granted(made);
    });
  });

  describe('the AccessRequest controller', () => {
    const profileSpec = { providerRef: { name: 'talos' }, providerConfigRef: { name: 'c' }, supportedVersions: [] };
    const withCluster = async () => {
      const profile = await create(ClusterProfile, `prof-${namespace}`, { spec: profileSpec });
      await create(Cluster, 'c', { spec: { profile: profile.metadata.name, tenancy: 'Exclusive' } });
      return { profile: profile.metadata.name, ref: { name: 'c', namespace } };
    };
    const access = async (name: string, spec: object, metadata: object = {}) =>
      await create(AccessRequest, name, { metadata, spec: { token: {}, ...spec } });
    const pending = async (object: AccessRequest, generation: number) =>
      await eventually(AccessRequest, object, ({ status, metadata }) => {
        expect(status).toMatchObject({ phase: 'Pending', observedGeneration: generation });
        expect(metadata.generation).toBe(generation);
      });
    const labelled = async (object: AccessRequest) =>
      await eventually(AccessRequest, object, ({ metadata }) =>
        expect(metadata.labels).toHaveProperty([openmcpKeys.profile]),
      );
    const setStatus = async (object: AccessRequest, status: object) =>
      await kube.merge(AccessRequest, objectKeyOf(object), { status }, { subresource: 'status' });
    const grant = async (object: AccessRequest) => {
      const { metadata } = await kube.get(AccessRequest, objectKeyOf(object));
      return await setStatus(object, { phase: 'Granted', observedGeneration: metadata.generation });
    };

    test('sets provider and profile of a request with a clusterRef', async () => {
      const { profile, ref } = await withCluster();
      const made = await access('a', { clusterRef: ref });
      const { metadata } = await pending(await labelled(made), 1);
      expect(metadata.labels).toEqual({ [openmcpKeys.provider]: 'talos', [openmcpKeys.profile]: profile });
    });

    test('follows a requestRef to the Cluster, once there is a profile', async () => {
      const { cluster } = await granted(await request('r', 'own'));
      const made = await access('a', { requestRef: { name: 'r', namespace } });
      const before = await pending(made, 1);
      expect(before.metadata.labels).toBeUndefined();
      await create(ClusterProfile, 'dev.talos.small', { spec: profileSpec });
      onTestFinished(async () => void (await kube.remove(ClusterProfile, { name: 'dev.talos.small' })));
      const after = await pending(await labelled(made), 2);
      expect(after.spec.clusterRef).toEqual({ name: cluster.metadata.name, namespace });
    });

    test('leaves a request without a reference pending', async () => {
      for (const [name, spec] of Object.entries({ none: {}, lost: { clusterRef: { name: 'x', namespace } } })) {
        await pending(await access(name, spec), 1);
      }
    });

    test('does not change a request that a provider has granted', async () => {
      const { ref } = await withCluster();
      const made = await labelled(await access('a', { clusterRef: ref }));
      await pending(made, 1);
      await grant(made);
      await kube.merge(AccessRequest, objectKeyOf(made), { metadata: { labels: { x: 'y' }, annotations: { z: '' } } });
      await pending(await access('b', { clusterRef: ref }), 1);
      expect((await kube.get(AccessRequest, objectKeyOf(made))).status?.phase).toBe('Granted');
    });

    test('resets a granted request to Pending when its spec changes or it is deleted', async () => {
      const { ref } = await withCluster();
      const made = await labelled(await access('a', { clusterRef: ref }, { finalizers: ['example.org/provider'] }));
      await pending(made, 1);
      await grant(made);
      await kube.merge(AccessRequest, objectKeyOf(made), { spec: { token: { roleRefs: [] } } });
      await pending(made, 2);
      await grant(made);
      await kube.remove(AccessRequest, objectKeyOf(made));
      await pending(made, 3);
      await kube.merge(AccessRequest, objectKeyOf(made), { metadata: { finalizers: null } });
    });

    test('a denied request becomes pending again with the next change', async () => {
      const { ref } = await withCluster();
      const made = await labelled(await access('a', { clusterRef: ref }));
      await pending(made, 1);
      await setStatus(made, { phase: 'Denied' });
      await kube.merge(AccessRequest, objectKeyOf(made), {
        metadata: { annotations: { [openmcpKeys.operation]: 'reconcile' } },
      });
      const after = await pending(made, 1);
      await expect
        .poll(async () => (await kube.get(AccessRequest, objectKeyOf(after))).metadata.annotations ?? {}, {
          timeout: timeoutMilliseconds,
        })
        .toEqual({});
    });

    test('leaves the annotation reconcile to the provider of the request', async () => {
      const { ref } = await withCluster();
      const made = await labelled(await access('a', { clusterRef: ref }));
      await pending(made, 1);
      await grant(made);
      await kube.merge(AccessRequest, objectKeyOf(made), {
        metadata: { annotations: { [openmcpKeys.operation]: 'reconcile' } },
      });
      await pending(await access('b', { clusterRef: ref }), 1);
      expect(await kube.get(AccessRequest, objectKeyOf(made))).toMatchObject({
        metadata: { annotations: { [openmcpKeys.operation]: 'reconcile' } },
        status: { phase: 'Granted' },
      });
    });

    test('does not overwrite a label of another provider', async () => {
      const { ref } = await withCluster();
      const made = await access('a', { clusterRef: ref }, { labels: { [openmcpKeys.provider]: 'other' } });
      const { metadata } = await pending(made, 1);
      expect(metadata.labels).toEqual({ [openmcpKeys.provider]: 'other' });
    });

    test('deletes an expired request, also a granted one', async () => {
      const { ref } = await withCluster();
      const made = await labelled(await access('a', { clusterRef: ref, ttl: '3s' }));
      await grant(made);
      expect(await get(made, AccessRequest)).toBeDefined();
      await eventuallyGone(AccessRequest, made);
      const seconds = (Date.now() - Date.parse(made.metadata.creationTimestamp ?? '')) / 1000;
      expect(seconds).toBeGreaterThanOrEqual(3);
    });

    test('does nothing under the annotation ignore, and acts after its removal', async () => {
      const { ref } = await withCluster();
      const made = await access('a', { clusterRef: ref }, { annotations: { [openmcpKeys.operation]: 'ignore' } });
      await pending(await access('b', { clusterRef: ref }), 1);
      expect(await get(made, AccessRequest)).not.toHaveProperty('status');
      await kube.merge(AccessRequest, objectKeyOf(made), {
        metadata: { annotations: { [openmcpKeys.operation]: null } },
      });
      await pending(await labelled(made), 1);
    });
  });
});
