import { describe, expect, it } from 'vitest';
import { Machine } from '../../../src/api/machine.ts';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { Lease } from '../../../src/kube/core-types.ts';
import { canonicalIp } from '../../../src/lib/net/ip.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** Addresses of IPv6 that the system delivers to the loopback of IPv4, so that no interface has to be changed. */
const mapped = (ipv4: string): string => canonicalIp(`::ffff:${ipv4}`);

const subnet = '127.43.71';
const open = startTestbed({ subnet });
const ref = { namespace: 'shop', name: 'six' };

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('six', {
    controlPlanes: 3,
    workers: 1,
    change: ({ network }) =>
      Object.assign(network, {
        addressPool: [`${mapped(`${subnet}.10`)}-${mapped(`${subnet}.19`)}`],
        prefix: 120,
        gateway: 'fe80::1',
        nameServers: ['fd00::53'],
        podSubnets: ['fd00:1::/56'],
        serviceSubnets: ['fd00:2::/112'],
      }),
  });
  await objects.cluster(ref, { config: 'six' });
  await eventually('the cluster is ready', async () => (await objects.getCluster(ref)).status?.phase === 'Ready', 100);
});

describe('a cluster of IPv6 alone', () => {
  const expected = [11, 12, 13, 14].map((last) => mapped(`${subnet}.${last}`));

  it('has its endpoint and every node at an address of the pool', async () => {
    const { items } = await open().platform.list(Machine);
    expect(items.map(({ spec }) => spec.endpoint)).toEqual(Array(4).fill(`https://[${mapped(`${subnet}.10`)}]:6443`));
    expect(items.map(({ status }) => status?.address).sort()).toEqual(expected);
    const nodes = await withAdminClient(open(), ref, (admin) => admin.list(KubeNode));
    const addresses = nodes.items.flatMap(({ status }) => status?.addresses ?? []);
    expect(addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : [])).sort()).toEqual(expected);
  });

  it('releases its addresses', async () => {
    const claims = async () => (await open().platform.list(Lease)).items.map(({ metadata }) => metadata.name);
    const claimed = (names: string[]) =>
      names.filter((name) => name.startsWith('talos-address-0-0-0-0-0-ffff-7f2b-47'));
    expect(claimed(await claims())).toHaveLength(5);
    await open().objects.remove(Cluster, ref);
    await eventually('they are free', async () => claimed(await claims()).length === 0);
  });
});
