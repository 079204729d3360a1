import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { machineName, nodePoolName } from '../../../src/api/names.ts';
import { NodePool } from '../../../src/api/node-pool.ts';
import type { AccessRequest } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { ServiceAccount } from '../../../src/kube/core-types.ts';
import { Pod } from '../../../src/kube/drain/kinds.ts';
import type { KubeObject } from '../../../src/kube/resource.ts';
import { readYamlObjects } from '../../demo/cluster-session.ts';
import { findPeer, missingPeers } from '../../peers/find-peer.ts';
import { freePort, type PeerProcess, startPeerProcess } from '../../peers/peer-process.ts';
import { createAutoscalerCertificates } from '../../support/autoscaler-client.ts';
import { eventually } from '../../support/eventually.ts';
import { missingForRealWorkload } from '../../world/talos/workload/real-workload.ts';
import { ConfigMap, grantedKubeconfig, openAdminClient } from '../support/access/workload-cluster.ts';
import { deletionsSince } from '../support/observation/scaling.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const missing = missingPeers('cluster-autoscaler') ?? missingForRealWorkload();
if (missing) it('the real cluster-autoscaler scales a cluster', ({ skip }) => skip(missing));
else await withRealAutoscaler();

async function withRealAutoscaler(): Promise<void> {
  const certificates = await createAutoscalerCertificates();
  const open = startTestbed({
    subnet: '127.42.237',
    workload: 'real',
    provider: { autoscaler: { address: { host: '127.0.0.1', port: 0 }, folder: certificates.folder } },
  });
  const cluster = { namespace: 'shop', name: 'elastic' };
  const access = { namespace: 'shop', name: 'autoscaler' };
  const folder = await mkdtemp(join(tmpdir(), 'cluster-autoscaler-'));
  let autoscaler: PeerProcess | undefined;
  let admin: KubeClient;

  const sample = (await readYamlObjects('config/samples/autoscaler.yaml')) as readonly KubeObject[];
  const sampleOf = <T extends KubeObject>(kind: string) => sample.find((one) => one.kind === kind) as T;
  interface Deployment extends KubeObject {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly { args: string[] }[] } } };
  }

  const replicas = async (pool = 'work') =>
    (await open().platform.get(NodePool, { name: nodePoolName(cluster, pool) })).spec.replicas;
  const machines = async (pool = 'work') =>
    (await open().objects.machines(cluster)).filter(({ spec }) => spec.pool === pool);
  const readyNodes = async () =>
    (await machines())
      .filter(({ status }) => isConditionTrue(status?.conditions, 'Ready'))
      .map(({ metadata }) => metadata.name);
  const until = async (what: string, look: () => Promise<unknown>, seconds = 30) => {
    try {
      await eventually(what, look, seconds);
    } catch (error) {
      process.stderr.write(`--- cluster-autoscaler\n${autoscaler?.tail()}\n`);
      throw error;
    }
  };

  /** A Pod that no node has room for, as a scheduler leaves it. */
  async function createPendingPod(name: string, tier: string, requests: Record<string, string>): Promise<void> {
    await admin.create(Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace: 'default',
        name,
        annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' },
      },
      spec: {
        automountServiceAccountToken: false,
        // Without workers the control planes run Pods, too.
        nodeSelector: { tier },
        containers: [{ name: 'c', image: 'registry.example.org/c', resources: { requests } }],
      },
    } as KubeObject as Pod);
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node has room' };
    const status = { phase: 'Pending', conditions: [{ ...condition, lastTransitionTime: new Date().toISOString() }] };
    await admin.merge(Pod, { namespace: 'default', name }, { status }, { subresource: 'status' });
  }
  const bind = (name: string, node: string) =>
    admin.raw('POST', `/api/v1/namespaces/default/pods/${name}/binding`, {
      ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name } },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    });
  const removePod = (name: string) =>
    admin.raw('DELETE', `/api/v1/namespaces/default/pods/${name}`, { gracePeriodSeconds: 0 });

  prepareTestbed(open, async ({ objects }) => {
    await objects.credentials();
    const small = { name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 20 };
    const limits = { replicas: 0, minReplicas: 0, maxReplicas: 3 };
    await objects.config('home', {
      change: (spec) =>
        void Object.assign(spec, {
          workerPools: [
            { name: 'work', ...limits, size: 'small', labels: { tier: 'work' } },
            { name: 'big', ...limits, size: 'big', labels: { tier: 'big' } },
          ],
          truenas: { ...spec['truenas'], sizes: [small, { ...small, name: 'big', memoryMiB: 8_000_000 }] },
        }),
    });
    await objects.cluster(cluster);
    await eventually('it is ready', async () => (await objects.getCluster(cluster)).status?.phase === 'Ready', 200);
    const { spec } = sampleOf<AccessRequest>('AccessRequest');
    await objects.request(access, { ...spec, clusterRef: cluster });
    await eventually(
      'access is granted',
      async () => (await objects.getRequest(access)).status?.phase === 'Granted',
      60,
    );
  });

  beforeAll(async () => {
    admin = await openAdminClient(open(), cluster);
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'default', name: 'default' } };
    await admin.apply(ServiceAccount, account);
    const pair = await certificates.client('cluster://shop/elastic');
    const file = async (name: string, text: string) => {
      await writeFile(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const lines = () => open().provider.lines.filter((line) => line.includes('serving over mutual TLS'));
    const address = await eventually(
      'it listens',
      async () => (JSON.parse(lines().at(-1) ?? '{}') as { address?: string }).address,
    );
    const kubeconfig = await file('kubeconfig', await grantedKubeconfig(open(), access));
    const [cert, key, cacert] = [
      await file('tls.crt', pair.cert),
      await file('tls.key', pair.key),
      await file('ca.crt', certificates.authority.ca),
    ];
    const config = await file('cloud-config', JSON.stringify({ address, cert, key, cacert }));
    const given = sampleOf<Deployment>('Deployment').spec.template.spec.containers[0]?.args ?? [];
    const args = given
      .map((arg) => arg.replace('/etc/cluster/kubeconfig', kubeconfig))
      .map((arg) => arg.replace('/etc/cloud-config/cloud-config', config));
    const hurry = ['--scan-interval=2s', '--scale-down-unneeded-time=4s', '--scale-down-delay-after-add=1s'];
    const more = ['--node-delete-delay-after-taint=1s', '--initial-node-group-backoff-duration=10m', '--v=4'];
    autoscaler = startPeerProcess({
      path: findPeer('cluster-autoscaler') ?? '',
      args: [...args, ...hurry, ...more, `--address=127.0.0.1:${await freePort('127.0.0.1')}`],
    });
  }, 120_000);
  afterAll(async () => {
    await autoscaler?.stop();
    await admin?.close();
    for (const path of [folder, certificates.folder]) await rm(path, { recursive: true });
  });

  it('reads its groups with the rights of the sample, and reports that it is healthy', async () => {
    await until('the status is there', async () => {
      const found = await admin.find(ConfigMap, { namespace: 'kube-system', name: 'cluster-autoscaler-status' });
      return found?.data?.['status']?.includes(nodePoolName(cluster, 'work'));
    });
    const forbidden = autoscaler
      ?.tail()
      .split('\n')
      .filter((line) => / is forbidden: User /.test(line));
    expect(forbidden).toEqual([]);
  });

  it('D57, D58: adds a node to an empty group for a Pod that needs one, and another for the next', async () => {
    await createPendingPod('first', 'work', { cpu: '1500m' });
    await until('one is asked for', async () => (await replicas()) === 1);
    await until('it is ready', async () => (await readyNodes()).length === 1);
    await bind('first', (await readyNodes())[0] ?? '');
    await createPendingPod('second', 'work', { cpu: '1500m' });
    await until('another one is asked for', async () => (await replicas()) === 2);
    await until('it is ready', async () => (await readyNodes()).length === 2);
    const used = (await readyNodes()).find((name) => name.endsWith('-1')) ?? '';
    await bind('second', used);
    expect(await replicas('big')).toBe(0);
  });

  it('D58: removes exactly the node that is not needed any more, and the last one, too', async () => {
    const since = new Date();
    const [first] = await readyNodes();
    await removePod('first');
    await until('one is left', async () => (await machines()).length === 1);
    expect(deletionsSince(open(), since).names).toEqual([first]);
    expect(await replicas()).toBe(1);
    await removePod('second');
    await until('none is left', async () => (await machines()).length === 0);
    expect(await replicas()).toBe(0);
  });

  it('D59: takes back a node that its platform has no memory for, and asks for no other one', async () => {
    const since = new Date();
    await createPendingPod('huge', 'big', { memory: '6000Gi' });
    const name = machineName(cluster, 'big', 0);
    await until('it was made and taken back', async () => deletionsSince(open(), since).names.includes(name));
    await until('it is gone', async () => (await machines('big')).length === 0);
    expect(await replicas('big')).toBe(0);
    // What the autoscaler says while it leaves the group out.
    await until('it waits', async () => autoscaler?.tail().includes('OutOfResource InsufficientMemory'));
    expect(deletionsSince(open(), since).names).toEqual([name]);
    await removePod('huge');
    expect(await replicas()).toBe(0);
    expect(open().faults()).toEqual([]);
  });
}
