import { expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Namespace } from '../../../src/kube/core-types.ts';
import { SecretString } from '../../../src/lib/secret-string.ts';
import { eventually } from '../../support/eventually.ts';
import { DaemonSet, type Workload } from '../../support/fixtures/workload-kinds.ts';
import { runProgram } from '../../support/run-program.ts';
import { clientFromKubeconfig } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.121' });
const ref = { namespace: 'shop', name: 'main' };
const team = (name: string) => ({ name, contents: `apiVersion: v1\nkind: Namespace\nmetadata: { name: ${name} }\n` });
const changeConfig = (spec: object) => open().platform.merge(ProviderConfig, { name: 'home' }, { spec });
const machines = () => open().objects.machines(ref);
const boots = () =>
  open()
    .world.machines.nodes()
    .map(({ boots: count }) => count);

/** As docs/networks.md says: with the kubeconfig of a cluster that is not ready yet. */
async function withClusterAdmin<T>(work: (admin: KubeClient) => Promise<T>): Promise<T> {
  const kubeconfig = await open().kubeconfigWith('config/rbac/access.yaml');
  const words = ['kubeconfig', '--cluster', 'shop/main', '--role=admin', '--kubeconfig', kubeconfig];
  const { code, out, err } = await runProgram(...words);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const client = clientFromKubeconfig(new SecretString(out));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    workers: 1,
    change: ({ network, kubernetes }) => {
      Object.assign(network, { cni: { name: 'None' }, kubeProxy: false, kubeSpan: { enabled: true } });
      Object.assign(kubernetes, { inlineManifests: [team('first')] });
    },
  });
  await objects.cluster(ref);
});

it('without a CNI the nodes join, and wait until they are ready', async () => {
  const waiting = async () =>
    (await machines()).map(({ status }) => status?.conditions?.find(({ type }) => type === 'Joined')?.message);
  await eventually(
    'both nodes are not ready',
    async () => (await waiting()).filter((message) => message?.includes('nodeReady')).length === 2,
    90,
  );
  expect((await open().objects.getCluster(ref)).status?.phase).not.toBe('Ready');
});

it('the cluster is ready once a CNI is installed, without Flannel and kube-proxy, and with its manifests', async () => {
  await withClusterAdmin(async (admin) => {
    expect((await admin.list(DaemonSet, { namespace: 'kube-system' })).items).toEqual([]);
    expect(await admin.find(Namespace, { name: 'first' })).toBeDefined();
    await admin.create(DaemonSet, cniDaemonSet);
  });
  await eventually('it is ready', async () => (await open().objects.getCluster(ref)).status?.phase === 'Ready', 60);
});

it('another manifest reaches the running cluster without a restart', async () => {
  const before = boots();
  await changeConfig({ kubernetes: { inlineManifests: [team('first'), team('second')] } });
  await eventually(
    'it was created',
    () => withClusterAdmin(async (admin) => (await admin.find(Namespace, { name: 'second' })) !== undefined),
    60,
  );
  await eventually('the Machines are up to date', async () =>
    (await machines()).every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate')),
  );
  expect(boots()).toEqual(before);
});

it('mirrors and a proxy reach the running cluster by restarts, and the nodes are ready again', async () => {
  const mirrors = [{ registry: 'docker.io', endpoints: ['https://mirror.example.org'] }];
  const before = boots();
  await changeConfig({ talos: { registries: { mirrors }, proxy: { https: 'http://proxy.example.org:3128' } } });
  await eventually(
    'every node has restarted, and is up to date',
    async () =>
      boots().every((count, i) => count > (before[i] ?? 0)) &&
      (await machines()).every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate')),
    90,
  );
  const { spec } = await open().platform.get(ProviderConfig, { name: 'home' });
  // The defaults are those of the schema.
  expect(spec.talos.registries.mirrors).toEqual([{ ...mirrors[0], overridePath: false, skipFallback: false }]);
  expect((await open().objects.getCluster(ref)).status?.phase).toBe('Ready');
});

it('neither the CNI nor kube-proxy can be changed below a running cluster', async () => {
  await expect(changeConfig({ network: { cni: { name: 'Flannel' } } })).rejects.toThrow(
    /network\.cni\.name cannot be changed, .* create a new ProviderConfig instead/,
  );
  await expect(changeConfig({ network: { kubeProxy: true } })).rejects.toThrow(/network\.kubeProxy cannot be changed/);
});

/** What the manifests of all plugins have in common. */
const cniDaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { namespace: 'kube-system', name: 'cilium' },
  spec: {
    selector: { matchLabels: { app: 'cilium' } },
    template: {
      metadata: { labels: { app: 'cilium' } },
      spec: {
        hostNetwork: true,
        containers: [{ name: 'agent', image: 'quay.io/cilium/cilium:v1.18.0' }],
        volumes: [{ name: 'plugins', hostPath: { path: '/etc/cni/net.d' } }],
      },
    },
  },
} as unknown as Workload;
