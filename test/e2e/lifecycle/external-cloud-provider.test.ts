import { expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { labels } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Node as KubeNode, type Node } from '../../../src/kube/drain/kinds.ts';
import { eventually } from '../../support/eventually.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.43.70' });
const ref = { namespace: 'shop', name: 'main' };
const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized';
const cloudLabels = [
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

const withNodes = <T>(work: (admin: KubeClient, nodes: readonly Node[]) => Promise<T>): Promise<T> =>
  withAdminClient(open(), ref, async (admin) => await work(admin, (await admin.list(KubeNode)).items));
const taintsOf = ({ spec }: Node) => (spec as { taints?: { key: string }[] } | undefined)?.taints ?? [];
const placementOf = ({ metadata, spec }: Node) => ({
  providerId: spec?.providerID,
  labels: cloudLabels.map((key) => metadata.labels?.[key]),
  isInitialized: !taintsOf({ metadata, spec } as Node).some(({ key }) => key === uninitialized),
});
const boots = () =>
  open()
    .world.machines.nodes()
    .map(({ boots: count }) => count);

/** What a cloud controller manager does for a Node (cloud-provider: controllers/node). */
const initialize = (admin: KubeClient, node: Node) =>
  admin.merge(
    KubeNode,
    { name: node.metadata.name },
    {
      metadata: { labels: Object.fromEntries(cloudLabels.map((key) => [key, 'by-others'])) },
      spec: {
        providerID: `cloud://${node.metadata.name}`,
        taints: taintsOf(node).filter(({ key }) => key !== uninitialized),
      },
    },
  );
const byOthers = ({ metadata: { name } }: Node) => ({
  ...{ providerId: `cloud://${name}`, labels: cloudLabels.map(() => 'by-others'), isInitialized: true },
});

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    workers: 1,
    change: ({ kubernetes }) => Object.assign(kubernetes, { externalCloudProvider: { enabled: true } }),
  });
  await objects.cluster(ref);
  await eventually('it is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 90);
});

it('Nodes wait for the cloud controller manager, without provider ids and labels of this provider', async () => {
  await withNodes(async (_admin, nodes) => {
    expect(nodes.map(placementOf)).toEqual(
      nodes.map(() => ({ providerId: undefined, labels: cloudLabels.map(() => undefined), isInitialized: false })),
    );
    expect(nodes.map(({ metadata }) => metadata.labels?.[labels.pool]).sort()).toEqual(['cp', 'work']);
  });
});

it('what the cloud controller manager sets stays, also when the configuration changes and when nodes restart', async () => {
  await withNodes(async (admin, nodes) => {
    for (const node of nodes) await initialize(admin, node);
  });
  const before = boots();
  const talos = { registries: { mirrors: [{ registry: 'docker.io', endpoints: ['https://mirror.example.org'] }] } };
  await open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { talos } });
  await eventually(
    'every node has restarted, and is up to date',
    async () =>
      boots().every((count, i) => count > (before[i] ?? 0)) &&
      (await open().objects.machines(ref)).every(({ status }) => isConditionTrue(status?.conditions, 'UpToDate')),
    90,
  );
  await withNodes(async (_admin, nodes) => {
    expect(nodes).toHaveLength(2);
    expect(nodes.map(placementOf)).toEqual(nodes.map(byOthers));
  });
});

it('the field cannot be changed below running clusters', async () => {
  const kubernetes = { externalCloudProvider: { enabled: false } };
  await expect(open().platform.merge(ProviderConfig, { name: 'home' }, { spec: { kubernetes } })).rejects.toThrow(
    /kubernetes\.externalCloudProvider\.enabled cannot be changed/,
  );
});
