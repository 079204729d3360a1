import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fleet } from '../../src/fleet/fleet.ts';
import { FleetCache } from '../../src/fleet/fleet-cache.ts';
import { ClusterNotFoundError } from '../../src/fleet/fleet-errors.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Namespace, Secret } from '../../src/kube/core-types.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { type ApiServerConnection, createApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { parseEmbeddedKubeconfig } from '../../src/kube/transport/embedded-kubeconfig.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { noLog } from '../../src/lib/log.ts';
import { SecretString } from '../../src/lib/secret-string.ts';
import { countPods } from '../examples/count-pods.ts';
import { eventually } from '../support/eventually.ts';
import { startSimulatedServer } from './support/simulated-server.ts';

interface Pod extends KubeObject {
  readonly spec?: object;
  readonly status?: { readonly phase?: string };
}
const core = { group: '', version: 'v1', namespaced: true };
const Pod: ResourceType<Pod> = { ...core, kind: 'Pod', plural: 'pods' };
const ConfigMap: ResourceType<KubeObject & { data?: Record<string, string> }> = {
  ...{ ...core, kind: 'ConfigMap', plural: 'configmaps' },
};
const namespace = 'fleet';
const label = { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' };

/** A cluster with an API server of its own, and two administrators. */
async function startCluster() {
  const server = await startSimulatedServer(['first', 'second']);
  const { url, switchboard } = server;
  const ca = server.authority.cert;
  const connection = createApiServerConnection({ server: url, ca, token: new SecretString('first') });
  const client = new KubeClient(new Transport(connection), { fieldManager: 'test', deadlineSeconds: 10 });
  const kubeconfig = (token = 'first', user: object = { token }): string =>
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
      clusters: [
        { name: 'it', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
      ],
      users: [{ name: 'it', user }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    });
  const addPod = async (name: string) => {
    const metadata = { namespace: 'default', name };
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
    await client.merge(Pod, metadata, { status: { phase: 'Running' } }, { subresource: 'status' });
  };
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { client, kubeconfig, addPod, switchboard, close };
}

describe('a controller on a fleet of published clusters', () => {
  let hub: Awaited<ReturnType<typeof startCluster>>;
  let one: Awaited<ReturnType<typeof startCluster>>;
  let two: Awaited<ReturnType<typeof startCluster>>;
  let fleet: Fleet;
  const end = new AbortController();

  const publish = async (name: string, kubeconfig: string) => {
    const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') };
    await hub.client.apply(Secret, { metadata: { namespace, name, labels: label }, data }, { force: true });
  };
  const countOf = async (name: string) =>
    (await hub.client.find(ConfigMap, { namespace, name: `pods-of-${name}` }))?.data?.['running'];
  const stateOf = (name: string) => fleet.history(name).at(-1)?.state;

  beforeAll(async () => {
    [hub, one, two] = await Promise.all([startCluster(), startCluster(), startCluster()]);
    await hub.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await one.addPod('a');
    fleet = countPods(hub.client, namespace, end.signal);
    await publish('one', one.kubeconfig());
  });
  afterAll(async () => {
    end.abort();
    await fleet.stop();
    await Promise.all([hub.close(), one.close(), two.close()]);
  });

  it('engages a cluster when its objects are known, and follows their changes', async () => {
    await eventually('one is counted', async () => (await countOf('one')) === '1');
    expect(fleet.names()).toEqual(['one']);
    await one.addPod('b');
    await eventually('the second is counted', async () => (await countOf('one')) === '2');
  });

  it('F5, F12: goes on with the same cluster after its token was rotated', async () => {
    const before = fleet.get('one');
    await publish('one', one.kubeconfig('second'));
    await eventually('it has the credentials', () => fleet.history('one').at(-1)?.reason === 'credentials-changed');
    expect(fleet.get('one')).toBe(before);
    expect(before.signal.aborted).toBe(false);
    await one.addPod('c');
    await eventually('the third is counted', async () => (await countOf('one')) === '3');
  });

  it('is not held up by a cluster that does not answer, and engages that one later', async () => {
    two.switchboard.fail('kube', /pods/, { kind: 'error', status: 500 }, 3);
    await publish('two', two.kubeconfig());
    await one.addPod('d');
    await eventually('the fourth is counted', async () => (await countOf('one')) === '4');
    await eventually('two is engaged', () => fleet.names().includes('two'), 60);
    expect(await countOf('two')).toBe('0');
  });

  it.each([
    ['a command', () => two.kubeconfig('', { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' } })],
    ['a file', () => two.kubeconfig('', { 'client-certificate': '/etc/passwd', 'client-key': '/etc/passwd' })],
    ['no credentials', () => two.kubeconfig('', {})],
    ['no YAML', () => '{'],
  ])('rejects a kubeconfig with %s, and keeps the cluster that it has', async (_, kubeconfig) => {
    const before = fleet.get('two');
    const count = fleet.history('two').filter(({ state }) => state === 'rejected').length;
    await publish('two', kubeconfig());
    await eventually(
      'it is rejected',
      () => fleet.history('two').filter(({ state }) => state === 'rejected').length > count,
    );
    expect(fleet.history('two').at(-1)?.message).toContain('The kubeconfig cannot be used: ');
    expect(fleet.get('two')).toBe(before);
  });

  it('lets a cluster go with its Secret: its signal aborts, and it is not found any more', async () => {
    const { signal } = fleet.get('one');
    await hub.client.remove(Secret, { namespace, name: 'one' });
    await eventually('it is gone', () => stateOf('one') === 'gone');
    expect(signal.aborted).toBe(true);
    expect(() => fleet.get('one')).toThrow(ClusterNotFoundError);
    expect(fleet.names()).toEqual(['two']);
  });

  it('ends everything when it is stopped', async () => {
    const { signal } = fleet.get('two');
    end.abort();
    expect(await fleet.stop()).toEqual([]);
    expect(signal.aborted).toBe(true);
    expect(fleet.names()).toEqual([]);
  });
});

describe('an index of a fleet', () => {
  it('F3: is of every cluster, before and after it is engaged, and has a name of its own', async () => {
    const clusters = await Promise.all([startCluster(), startCluster()]);
    const pods = new FleetCache(Pod, { maxObjects: 100 });
    pods.addIndex('phase', ({ status }) => [status?.phase ?? 'Unknown']);
    const openClient = (connection: ApiServerConnection) =>
      new KubeClient(new Transport(connection), { fieldManager: 'test' });
    const fleet = new Fleet({ clock: systemClock, log: noLog, openClient, caches: [pods], consumers: [] });
    try {
      const [first, second] = clusters;
      await first?.addPod('a');
      await second?.addPod('b');
      const add = (name: string, cluster = first) => {
        const connection = parseEmbeddedKubeconfig(new SecretString(cluster?.kubeconfig() ?? ''));
        fleet.upsert(name, { id: name, connection });
      };
      add('first');
      await eventually('the first is engaged', () => fleet.names().length === 1);
      pods.addIndex('name', ({ metadata }) => [metadata.name]);
      pods.addIndex('broken', () => {
        throw new Error('no');
      });
      add('second', second);
      await eventually('both are engaged', () => fleet.names().length === 2);
      const names = ['first', 'second'].map((name) => {
        const cache = pods.of(fleet.get(name));
        return ['a', 'b'].map((pod) => cache.by('name', pod).length + cache.by('broken', pod).length);
      });
      expect(names).toEqual([
        [1, 0],
        [0, 1],
      ]);
      expect(pods.of(fleet.get('second')).by('phase', 'Running')).toHaveLength(1);
      expect(() => pods.addIndex('name', () => [])).toThrow(/has an index "name" already/);
    } finally {
      await fleet.stop();
      await Promise.all(clusters.map((cluster) => cluster.close()));
    }
  });
});
