import { describe, expect, it } from 'vitest';
import { isConditionTrue } from '../../../src/api/conditions.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { eventually } from '../../support/eventually.ts';
import { KubeNode } from '../../support/fixtures/kube-node.ts';
import { withAdminClient } from '../support/access/workload-cluster.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const subnet = '127.42.29';
const open = startTestbed({ subnet });
const dual = { namespace: 'shop', name: 'dual' };
const single = { namespace: 'shop', name: 'single' };
const refs = [dual, single];
/** 127.42.29.0 in hexadecimal, after the two digits of each octet. */
const ipv6Of = (net: string, ipv4: string) =>
  `${net}7f2a:1d${Number(ipv4.split('.')[3]).toString(16).padStart(2, '0')}`;

const nodesOf = async (ref: typeof dual) =>
  (await withAdminClient(open(), ref, (admin) => admin.list(KubeNode))).items.map(({ status }) =>
    (status?.addresses ?? []).flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : [])),
  );
const boots = () =>
  open()
    .world.machines.nodes()
    .map((node) => node.boots);

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('dual', {
    workers: 1,
    pool: [10, 19],
    change: ({ network }) =>
      Object.assign(network, {
        podSubnets: ['10.244.0.0/16', 'fd00:1::/56'],
        serviceSubnets: ['10.96.0.0/12', 'fd00:2::/112'],
        ipv6: { subnet: 'fd00:10::/64', gateway: 'fd00:10::1' },
      }),
  });
  await objects.config('single', { pool: [20, 29] });
  for (const ref of refs) await objects.cluster(ref, { config: ref.name });
  for (const ref of refs)
    await eventually(
      `${ref.name} is ready`,
      async () => (await objects.getCluster(ref)).status?.phase === 'Ready',
      100,
    );
});

describe('a dual-stack cluster', () => {
  it('has nodes with an address of each family, IPv4 first', async () => {
    const nodes = await nodesOf(dual);
    expect(nodes).toHaveLength(2);
    for (const [ipv4 = '', ...others] of nodes) expect(others).toEqual([ipv6Of('fd00:10::', ipv4)]);
  });
});

describe('IPv6 addresses that are added to a running cluster', () => {
  it('reach its nodes without a restart, and are not those of Pods', async () => {
    const before = boots();
    const network = { ipv6: { subnet: 'fd00:20::/64' } };
    await open().platform.merge(ProviderConfig, { name: 'single' }, { spec: { network } });
    await eventually('the node has it', () =>
      open()
        .world.machines.nodes()
        .some(({ ipv6Addresses }) => ipv6Addresses.some((one) => one.startsWith('fd00:20::7f2a:'))),
    );
    await eventually('the cluster is up to date', async () =>
      isConditionTrue((await open().objects.getCluster(single)).status?.conditions, 'UpToDate'),
    );
    expect(boots()).toEqual(before);
    expect(await nodesOf(single)).toEqual([[expect.stringMatching(/^127\./)]]);
  });

  it('have a subnet that cannot be changed', async () => {
    const network = { ipv6: { subnet: 'fd00:30::/64' } };
    await expect(open().platform.merge(ProviderConfig, { name: 'single' }, { spec: { network } })).rejects.toThrow(
      /network\.ipv6\.subnet cannot be changed/,
    );
  });
});
