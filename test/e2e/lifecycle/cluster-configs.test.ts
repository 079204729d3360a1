import { describe, expect, it } from 'vitest';
import { ClusterConfig, type ClusterConfigSpec } from '../../../src/api/cluster-config.ts';
import { findFalseCondition, isConditionTrue } from '../../../src/api/conditions.ts';
import { annotations as annotationKeys, labels } from '../../../src/api/names.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { apiVersionOf } from '../../../src/kube/resource.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { listLeftovers } from '../support/observation/provider-calls.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const open = startTestbed({ subnet: '127.42.136' });
const namespace = 'shop';
const plain = { namespace, name: 'plain' };
const special = { namespace, name: 'special' };
const small = { name: 'small', cpus: 2, memoryMiB: 2048, diskGiB: 20 };
const large = { name: 'large', cpus: 4, memoryMiB: 4096, diskGiB: 20 };

const write = (name: string, spec: object) =>
  open().platform.create(ClusterConfig, {
    apiVersion: apiVersionOf(ClusterConfig),
    kind: ClusterConfig.kind,
    metadata: { namespace, name },
    spec: spec as ClusterConfigSpec,
  });
const change = (name: string, spec: object) => open().platform.merge(ClusterConfig, { namespace, name }, { spec });

const isReady = async (ref: typeof plain): Promise<boolean> => {
  const { status, metadata } = await open().objects.getCluster(ref);
  return status?.phase === 'Ready' && status.observedGeneration === metadata.generation;
};
const refusalOf = async (ref: typeof plain) =>
  findFalseCondition((await open().objects.getCluster(ref)).status?.conditions, 'Accepted');

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home', {
    workers: 1,
    change: (spec) => Object.assign(spec.truenas, { sizes: [small, large] }),
  });
  await objects.cluster(plain);
  const annotations = { [annotationKeys.nodePrefix]: 'blue' };
  await objects.cluster(special, { clusterConfigs: [{ name: 'size' }, { name: 'pools' }] }, { annotations });
});

describe('a Cluster with ClusterConfigs', () => {
  it('waits for missing ClusterConfigs, and reports them', async () => {
    const messages = await eventually('it is refused', () => refusalOf(special));
    expect(messages).toMatchObject({
      reason: 'InvalidReference',
      message: expect.stringMatching(/^spec\.clusterConfigs\[0\]: there is no ClusterConfig size in namespace shop\./),
    });
    expect(await open().objects.machines(special)).toEqual([]);
  });

  it('is rejected with the field of the invalid ClusterConfig, and nothing is created', async () => {
    await write('size', { controlPlane: { size: 'huge' } });
    await write('pools', {
      workerPools: [
        { name: 'work', replicas: 0 },
        { name: 'fast', replicas: 1, size: 'small', labels: { 'example.org/disk': 'fast' } },
      ],
    });
    const messages = await eventually('the field is named', async () => {
      const rejection = await refusalOf(special);
      return rejection?.reason === 'InvalidClusterConfig' && rejection;
    });
    expect(messages.message).toMatch(
      /^ClusterConfig size, controlPlane\.size: The size huge does not exist\. .*small, large/,
    );
    expect(await open().objects.machines(special)).toEqual([]);
  });

  it('C22: follows its ClusterConfigs once they are valid, and its neighbour follows the ProviderConfig', async () => {
    await change('size', { controlPlane: { size: 'large' } });
    for (const ref of [plain, special]) await eventually(`${ref.name} is ready`, () => isReady(ref), 100);
    const made = async (ref: typeof plain) =>
      (await open().objects.machines(ref)).map(({ spec }) => [spec.pool, spec.size]).sort();
    expect(await made(special)).toEqual([
      ['cp', 'large'],
      ['fast', 'small'],
    ]);
    expect(await made(plain)).toEqual([
      ['cp', 'small'],
      ['work', 'small'],
    ]);
    const vms = open().world.truenas.dump().vms as { cores: number; memory: number }[];
    const sizes = vms.map(({ cores, memory }) => [cores, memory]);
    expect(sizes.filter(([cores]) => cores === large.cpus)).toEqual([[large.cpus, large.memoryMiB]]);
  });

  it('gives nodes what its pools request', async () => {
    const nodes = await withAdminClient(open(), special, async (admin) => (await admin.list(KubeNode)).items);
    const pools = nodes.map(({ metadata }) => [metadata.labels?.[labels.pool], metadata.labels?.['example.org/disk']]);
    expect(pools).toContainEqual(['fast', 'fast']);
  });

  it('C25: names its nodes by its annotation, permanently', async () => {
    const names = async () => (await open().objects.machines(special)).map(({ metadata }) => metadata.name);
    const before = await names();
    expect(before.every((name) => /^blue-[a-z2-7]{8}-(cp|fast)-0$/.test(name))).toBe(true);
    await open().objects.annotate(Cluster, special, { [annotationKeys.nodePrefix]: 'red' });
    const messages = await eventually('the change is refused', () => refusalOf(special));
    expect(messages).toMatchObject({
      reason: 'NameChangeRejected',
      message: expect.stringMatching(/Restore blue\.$/),
    });
    await open().objects.annotate(Cluster, special, { [annotationKeys.nodePrefix]: 'blue' });
    await eventually('all is well again', async () => !(await refusalOf(special)));
    expect(await names()).toEqual(before);
  });

  it('C24: grows when one of its ClusterConfigs does', async () => {
    await change('pools', {
      workerPools: [
        { name: 'work', replicas: 0 },
        { name: 'fast', replicas: 2, size: 'small' },
      ],
    });
    await eventually('the second one is there', async () => {
      const machines = await open().objects.machines(special);
      return machines.length === 3 && machines.every(({ status }) => isConditionTrue(status?.conditions, 'Ready'));
    });
    expect(await open().objects.machines(plain)).toHaveLength(2);
  });

  it('reports the deletion of one of them, and is reconciled all the same', async () => {
    await open().objects.remove(ClusterConfig, { namespace, name: 'pools' });
    const messages = await eventually('it is missed', () => refusalOf(special));
    expect(messages).toMatchObject({
      reason: 'InvalidReference',
      message: expect.stringMatching(/ClusterConfig pools/),
    });
    const { status } = await open().objects.getCluster(special);
    expect(isConditionTrue(status?.conditions, 'EndpointReachable')).toBe(true);
    expect(await open().objects.machines(special)).toHaveLength(3);
  });

  it('is deleted without it, and leaves nothing behind', async () => {
    for (const ref of [plain, special]) await open().objects.remove(Cluster, ref);
    await eventually('they are gone', async () => {
      const left = await open().platform.list(Cluster);
      return left.items.length === 0;
    });
    expect((await listLeftovers(open())).filter((fingerprint) => /machine|vm|dataset/i.test(fingerprint))).toEqual([]);
  });
});
