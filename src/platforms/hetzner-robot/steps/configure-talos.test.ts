import { expect, it } from 'vitest';
import type { HostView } from '../../../engine/host.ts';
import type { NodeHardware } from '../../../engine/node.ts';
import type { Facts } from '../../../engine/step.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import type { RobotStepContext } from '../context.ts';
import { configApplied } from './configure-talos.ts';

const mac = '02:00:5e:00:00:01';
const facts: Facts = {
  ...{ address: '203.0.113.41', ipv6Net: '2001:db8:7a:11c::', gateway: '203.0.113.1', mac },
  installDisk: '/dev/disk/by-id/nvme-EXAMPLE_NV960_EX9600000001',
};

interface Sent {
  readonly described: NodeHardware[];
  readonly applied: string[];
}

/** Applies a configuration to a node in maintenance mode with these network cards. */
async function hand(macs: readonly string[], more: { facts?: Facts; config?: object; server?: object } = {}) {
  const sent: Sent = { described: [], applied: [] };
  const client = {
    stage: async () => 'maintenance',
    macs: async () => macs,
    apply: async (config: SecretString) => void sent.applied.push(config.reveal()),
    close: async () => {},
  };
  const context = {
    config: more.config ?? {},
    facts: { ...facts, ...more.facts },
    hosts: {
      current: async () =>
        ({ name: 'a', spec: { serverID: '3140017' }, platformSpec: {}, server: more.server }) as unknown as HostView,
    },
    maintenance: () => client,
    machineConfig: async (hardware: NodeHardware) => {
      sent.described.push(hardware);
      return new SecretString('machine: {}');
    },
  };
  const outcome = await configApplied.run(context as unknown as RobotStepContext);
  return { outcome, ...sent };
}

it('P24, P29, P50: a node gets a persistent disk name, the first address of its IPv6 network, and its provider id', async () => {
  const { outcome, described, applied } = await hand([mac]);
  expect(outcome.kind).toBe('done');
  expect(applied).toEqual(['machine: {}']);
  expect(described).toEqual([
    {
      installDisk: '/dev/disk/by-id/nvme-EXAMPLE_NV960_EX9600000001',
      imagePlatform: 'metal',
      providerId: 'hetzner-robot://3140017',
      links: [
        {
          mac,
          addresses: ['203.0.113.41/32', '2001:db8:7a:11c::1/64'],
          ...{ gateway: '203.0.113.1', onLinkGateway: true, gateway6: 'fe80::1' },
        },
      ],
    },
  ]);
});

it('a node gets its address in the vSwitch, and the failover address', async () => {
  const config = { vswitch: { name: 'talos', vlan: 4007, mtu: 1400 }, failoverAddress: '203.0.113.99' };
  const { described } = await hand([mac], { config, facts: { privateAddress: '10.9.0.21', privatePrefix: 24 } });
  expect(described).toMatchObject([
    { links: [{ vlan: { id: 4007, mtu: 1400, addresses: ['10.9.0.21/24'] } }], floatingAddresses: ['203.0.113.99'] },
  ]);
});

it.each([
  [
    { product: 'AX41-NVMe', location: 'FSN1-DC18' },
    { instanceType: 'AX41-NVMe', topology: { region: 'fsn1', zone: 'fsn1-dc18' } },
  ],
  [
    { product: 'Server Auction', location: 'HEL1' },
    { instanceType: 'Server-Auction', topology: { region: 'hel1', zone: 'hel1' } },
  ],
  [
    { product: '', location: '-' },
    { instanceType: undefined, topology: undefined },
  ],
])('a server that Robot describes as %j is %j for Kubernetes', async (server, expected) => {
  const { described } = await hand([mac], { server });
  expect(described[0]).toMatchObject(expected.instanceType === undefined ? {} : expected);
  if (expected.instanceType === undefined) expect(Object.keys(described[0] ?? {})).not.toContain('topology');
});

it('a machine with other cards gets no configuration', async () => {
  const { outcome, applied } = await hand(['02:00:5e:00:00:99']);
  expect(outcome).toMatchObject({ kind: 'fail', reason: 'WrongServer' });
  expect(applied).toEqual([]);
});

it('a node that does not report its cards is identified by its address', async () => {
  expect((await hand([])).outcome.kind).toBe('done');
});
