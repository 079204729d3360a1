import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import { describeWithTalosctl, talosctlFor, validateAllWithTalosctl } from '../../../../test/talos/talosctl.ts';
import type { NodeHardware, NodeLink } from '../../../engine/node.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { findConfigProblems, type MachineConfigInput, renderMachineConfig } from '../machine-config.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const nic: NodeLink = {
  mac: 'a8:a1:59:00:00:01',
  addresses: ['203.0.113.41/32', '2001:db8:7a:11c::1/64'],
  gateway: '203.0.113.1',
  onLinkGateway: true,
  gateway6: 'fe80::1',
};
const vlan = { id: 4000, addresses: ['10.9.0.21/24'], mtu: 1400 };
const floatingAddresses = ['198.51.100.7', '2001:db8:f::7'];
const podsOfBoth = ['10.244.0.0/16', '2001:db8:1::/56'];

/** A bare-metal server with preassigned addresses. */
function input(hardware: Partial<NodeHardware>, changes: Partial<MachineConfigInput> = {}): MachineConfigInput {
  const { vip: _, ...rest } = exampleConfigInput(bundle, changes);
  const bare = {
    installDisk: '/dev/disk/by-id/nvme-any',
    imagePlatform: 'metal',
    providerId: 'robot://3140017',
  } as const;
  return { ...rest, ...(changes.vip && { vip: changes.vip }), hardware: { ...bare, links: [nic], ...hardware } };
}
const dual = (): Partial<MachineConfigInput> => ({
  network: { ...exampleConfigInput(bundle).network, podSubnets: podsOfBoth },
});
const read = (one: MachineConfigInput) =>
  parseAllDocuments(renderMachineConfig(one).reveal()).map((document) => document.toJS());
const main = (one: MachineConfigInput) => read(one)[0];
const own = (one: MachineConfigInput): unknown[] => {
  const { machine, cluster } = main(one);
  return [machine.kubelet.nodeIP.validSubnets, cluster.etcd?.advertisedSubnets];
};

describe('the network of a bare-metal server', () => {
  it('H22, B12, P30, P32, P33, P34: is static, on the card with its MAC and no other', () => {
    expect(main(input({})).machine.network.interfaces).toEqual([
      {
        deviceSelector: { hardwareAddr: 'a8:a1:59:00:00:01', physical: true },
        dhcp: false,
        addresses: ['203.0.113.41/32', '2001:db8:7a:11c::1/64'],
        routes: [
          { network: '203.0.113.1/32' },
          { network: '0.0.0.0/0', gateway: '203.0.113.1' },
          { network: '::/0', gateway: 'fe80::1' },
        ],
      },
    ]);
  });

  it("P31: has the private network on a VLAN of that card, and the card's selector matches no VLAN", () => {
    const links = [{ ...nic, vlan }];
    const [link, ...others] = main(input({ links }, { vip: '10.9.0.10' })).machine.network.interfaces;
    expect(others).toEqual([]);
    expect(link.deviceSelector.physical).toBe(true);
    expect(link).not.toHaveProperty('vip');
    expect(link.vlans).toEqual([
      { vlanId: 4000, dhcp: false, addresses: ['10.9.0.21/24'], mtu: 1400, vip: { ip: '10.9.0.10' } },
    ]);
    const worker = input({ links }, { vip: '10.9.0.10', role: 'worker' });
    expect(JSON.stringify(main(worker).machine.network)).not.toContain('vip');
  });

  it('P35: restricts kubelet and etcd to the addresses for other nodes', () => {
    const ofCard = ['203.0.113.41/32'];
    expect(own(input({}))).toEqual([ofCard, ofCard]);
    const both = [...ofCard, '2001:db8:7a:11c::1/128'];
    expect(own(input({}, dual()))).toEqual([both, both]);
    const ofVlan = ['10.9.0.21/32'];
    expect(own(input({ links: [{ ...nic, vlan }] }, dual()))).toEqual([ofVlan, ofVlan]);
    const second = { mac: 'a8:a1:59:00:00:02', addresses: [], vlan };
    expect(own(input({ links: [nic, second] }))).toEqual([ofVlan, ofVlan]);
    const six = { mac: nic.mac, addresses: ['2001:db8:7a:11c::1/64'], gateway6: 'fe80::1' };
    expect(own(input({ links: [six] }, { role: 'worker' }))).toEqual([['2001:db8:7a:11c::1/128'], undefined]);
  });

  it('accepts the floating address of a control plane on the loopback, so that no packet has it as source', () => {
    const { interfaces } = main(input({ floatingAddresses })).machine.network;
    expect(interfaces.slice(1)).toEqual([{ interface: 'lo', addresses: ['198.51.100.7/32', '2001:db8:f::7/128'] }]);
    expect(interfaces[0].addresses).toEqual(nic.addresses);
    expect(main(input({ floatingAddresses }, { role: 'worker' })).machine.network.interfaces).toHaveLength(1);
  });

  it('H21, P36, P37: sets the provider id, and the host name only in its own document', () => {
    const [first, hostname] = read(input({}));
    expect(first.machine.kubelet.extraArgs).toEqual({ 'provider-id': 'robot://3140017' });
    expect(first.machine.network).not.toHaveProperty('hostname');
    expect(hostname).toEqual({ apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'example-cp-0' });
  });
});

const reported: NodeLink = {
  ...{ mac: nic.mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: '203.0.113.41/24' },
};

describe('a node with an address from a DHCP server', () => {
  const one = (changes: Partial<MachineConfigInput> = {}) => {
    const made = input({ links: [reported] }, { vip: '203.0.113.10', ...changes });
    return { ...made, network: { ...made.network, nameServers: [] } };
  };

  it('T39: requests it, is restricted to it, and sets no routes and name servers itself', () => {
    expect(main(one()).machine.network).toEqual({
      interfaces: [
        {
          deviceSelector: { hardwareAddr: nic.mac, physical: true },
          ...{ dhcp: true, dhcpOptions: { routeMetric: 1024 }, vip: { ip: '203.0.113.10' } },
        },
      ],
    });
    expect(own(one())).toEqual([['203.0.113.41/32'], ['203.0.113.41/32']]);
    expect(read(one())[1]).toMatchObject({ kind: 'HostnameConfig', hostname: 'example-cp-0' });
  });

  it('T39: cannot be kept from requesting it by a patch', () => {
    const deviceSelector = { hardwareAddr: nic.mac, physical: true };
    const problems = (link: object) => {
      const document = { machine: { network: { interfaces: [link] } } };
      return findConfigProblems(one({ patches: [{ from: 'talos.patches[0]', document }] })).map(
        ({ message }) => message,
      );
    };
    expect(problems({ deviceSelector, mtu: 1400 })).toEqual([]);
    expect(problems({ deviceSelector, dhcp: false })).toEqual([
      expect.stringMatching(/^machine\.network\.interfaces must keep dhcp of the first network card/),
    ]);
  });
});

describe('a patch on a node with a VLAN', () => {
  const problems = (...links: object[]): string[] => {
    const patches = [{ from: 'talos.patches[0]', document: { machine: { network: { interfaces: links } } } }];
    const one = input({ links: [{ ...nic, vlan }], floatingAddresses }, { vip: '10.9.0.10', patches });
    return findConfigProblems(one).map(({ message }) => message);
  };
  const deviceSelector = { hardwareAddr: nic.mac, physical: true };

  it('may add to it', () => {
    expect(
      problems({
        deviceSelector,
        vlans: [
          { vlanId: 4000, mtu: 1450 },
          { vlanId: 12, dhcp: true },
        ],
      }),
    ).toEqual([]);
    expect(problems({ interface: 'lo', addresses: ['192.0.2.53/32'] })).toEqual([]);
  });

  it('may not remove the addresses by which others reach the node', () => {
    const sentence = expect.stringMatching(/^machine\.network\.interfaces must keep the network card/);
    expect(problems({ deviceSelector, vlans: [{ vlanId: 4000, vip: { ip: '10.9.0.99' } }] })).toEqual([sentence]);
    expect(problems({ deviceSelector, vlans: [{ vlanId: 4000, addresses: ['10.9.0.300/24'] }] })).toEqual([
      'machine.network.interfaces[0].vlans[0].addresses contains a value that is not an address with a prefix length.',
    ]);
  });
});

const further: NodeLink[] = [
  { mac: 'a8:a1:59:00:00:02', addresses: [], dhcp: { routeMetric: 2048 }, mtu: 9000 },
  { mac: 'a8:a1:59:00:00:03', addresses: [], dhcp: false },
];

describe('further network cards', () => {
  it('S18: get their own address by DHCP with a higher route metric, or none, and are never the node address', () => {
    const one = input({ links: [nic, ...further] });
    const [, ...others] = main(one).machine.network.interfaces;
    expect(others).toEqual([
      {
        deviceSelector: { hardwareAddr: 'a8:a1:59:00:00:02', physical: true },
        dhcp: true,
        dhcpOptions: { routeMetric: 2048 },
        mtu: 9000,
      },
      { deviceSelector: { hardwareAddr: 'a8:a1:59:00:00:03', physical: true }, dhcp: false },
    ]);
    expect(own(one)).toEqual(own(input({})));
  });
});

describeWithTalosctl(() => {
  const kinds: Partial<NodeHardware>[] = [
    {},
    { floatingAddresses },
    { links: [{ ...nic, vlan }] },
    { links: [nic, ...further] },
    { links: [reported, ...further] },
    {
      links: [
        { mac: nic.mac, addresses: [], mtu: 1500 },
        { ...nic, mac: 'a8:a1:59:00:00:02', vlan },
      ],
      floatingAddresses,
    },
  ];
  const versions = ['1.12.11', '1.13.9', '1.14.0'].filter((version) => talosctlFor(version) !== undefined);

  it('every kind of network is valid, for every version of Talos and both roles', async () => {
    const inputs = versions.flatMap((talosVersion) =>
      (['controlplane', 'worker'] as const).flatMap((role) =>
        kinds.map((hardware) => input(hardware, { ...dual(), talosVersion, role, vip: '10.9.0.10' })),
      ),
    );
    const answers = await validateAllWithTalosctl(
      inputs.map((one) => ({
        binary: talosctlFor(one.talosVersion) ?? '',
        mode: 'metal' as const,
        config: renderMachineConfig(one).reveal(),
      })),
    );
    expect(answers.filter((answer) => answer !== '')).toEqual([]);
    expect(answers).toHaveLength(12 * versions.length);
  }, 60_000);
});
