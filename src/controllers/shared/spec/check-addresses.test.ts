import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import { countAddressesPerCluster } from './check-addresses.ts';
import { validateSpec } from './validate-spec.ts';

type Raw = Record<string, Record<string, unknown>>;
const usual: Addressing = { pool: 'main', endpoint: 'virtual-address' };
const network = (values: object) => (raw: Raw) => Object.assign(raw['network']!, values);

it('counts one address for each node and one for an endpoint from the pool', () => {
  const pools = { workerPools: [{ name: 'work', replicas: 2, size: 'small' }] };
  const spec = aSpec((raw) => Object.assign(raw, pools));
  const named = aSpec((raw) => Object.assign((raw as Raw)['controlPlane']!, { endpoint: 'k8s.example.org' }));
  const host = { field: 'other.address', host: '198.51.100.7' };
  expect(countAddressesPerCluster(spec, usual)).toBe(6);
  expect(countAddressesPerCluster(named, usual)).toBe(3);
  expect(countAddressesPerCluster(spec, { pool: 'private', endpoint: 'virtual-address' })).toBe(6);
  expect(countAddressesPerCluster(spec, { pool: 'private', endpoint: 'first-node' })).toBe(5);
  expect(countAddressesPerCluster(spec, { pool: 'private', endpoint: host })).toBe(5);
  expect(countAddressesPerCluster(spec, { pool: 'none', endpoint: 'first-node' })).toBe(0);
});

describe('the address fields of a ProviderConfig', () => {
  const without =
    (...fields: string[]) =>
    (raw: Raw) => {
      for (const field of fields) delete raw['network']![field];
    };
  const assessed = (addressing: Addressing, ...changes: ((raw: Raw) => void)[]) =>
    validateSpec(
      aSpec((raw) => changes.forEach((change) => void change(raw as Raw))),
      { sizes: ['small'], hosts: [], addressing },
    ).map(({ field, message }) => `${field}: ${message}`);
  const vlan: Addressing = { pool: 'private', endpoint: 'virtual-address' };
  const own: Addressing = { pool: 'none', endpoint: 'first-node' };

  it('are all required in the main network, each with an example', () => {
    expect(assessed(usual, without('addressPool', 'prefix', 'gateway'))).toEqual([
      'network.addressPool: Not set. It is required for the addresses of nodes. Use addresses or ranges like 192.168.10.20-192.168.10.60.',
      'network.prefix: Not set. It is required for the addresses of nodes. Use the length in bits, like 24.',
      'network.gateway: Not set. It is required for the addresses of nodes. Use an address like 192.168.10.1.',
    ]);
  });

  it('T39: need no gateway and no name servers with a DHCP server, and allow no gateway', () => {
    const dhcp = network({ addressAssignment: 'DHCP' });
    expect(assessed(usual, dhcp, without('gateway', 'nameServers'))).toEqual([]);
    expect(assessed(usual, dhcp, without('gateway', 'addressPool'))).toEqual([
      expect.stringMatching(/^network\.addressPool: Not set\./),
    ]);
    expect(assessed(usual, dhcp)).toEqual([
      'network.gateway: Not allowed with addressAssignment DHCP: the DHCP server announces the gateway. Omit it.',
    ]);
    expect(assessed(usual, without('nameServers'))).toEqual([
      'network.nameServers: Not set. Use addresses like 192.168.10.1.',
    ]);
    for (const addressing of [vlan, own])
      expect(assessed(addressing, dhcp)).toContainEqual(
        expect.stringMatching(/^network\.addressAssignment: DHCP is not supported: .* Omit it\.$/),
      );
  });

  it('are a pool and its prefix in a private network, without a gateway', () => {
    expect(assessed(vlan, without('gateway'))).toEqual([]);
    expect(assessed(vlan, without('addressPool', 'prefix', 'gateway'))).toEqual([
      expect.stringMatching(/^network\.addressPool: Not set\. It is required for the private addresses of nodes\./),
      expect.stringMatching(/^network\.prefix: Not set\./),
    ]);
    expect(assessed(vlan)).toEqual([
      'network.gateway: Not allowed: the private network has no gateway, and the nodes have their own. Omit it.',
    ]);
  });

  it('are in one subnet there too, that of the first, with one for each node and a virtual one', () => {
    const pool = (...addressPool: string[]) => network({ addressPool });
    const few = pool('192.168.10.20-192.168.10.22');
    expect(assessed(vlan, without('gateway'), pool('192.168.10.20', '192.168.11.21-192.168.11.40'))).toEqual([
      expect.stringMatching(
        /^network\.addressPool\[1\]: .* subnet of the first address and network\.prefix, 192\.168\.10\.0 to/,
      ),
    ]);
    expect(assessed(vlan, without('gateway'), pool('1.2', '192.168.10.21-192.168.10.40'))).toEqual([
      expect.stringMatching(/^network\.addressPool\[0\]: 1\.2 is neither/),
    ]);
    expect(assessed(vlan, without('gateway'), few)).toEqual([
      expect.stringMatching(/3 addresses, .* needs 4 \(one for each node, and one/),
    ]);
    expect(assessed({ ...vlan, endpoint: 'first-node' }, without('gateway'), few)).toEqual([]);
    expect(assessed(vlan, without('gateway'), network({ podSubnets: ['192.168.0.0/16'] }))).toEqual([
      expect.stringMatching(/^network\.podSubnets\[0\]: .* overlaps/),
    ]);
  });

  it('are rejected for nodes with their own addresses', () => {
    expect(assessed(own, without('addressPool', 'prefix', 'gateway'))).toEqual([]);
    expect(assessed(own)).toEqual(
      ['addressPool', 'prefix', 'gateway'].map(
        (field) => `network.${field}: Not allowed: nodes of this platform have their own addresses. Omit it.`,
      ),
    );
  });
});

describe('a pool of IPv6 addresses', () => {
  const six = {
    addressPool: ['fd00:10::20-fd00:10::3f'],
    prefix: 64,
    gateway: 'fe80::1',
    podSubnets: ['fd00:1::/56'],
    serviceSubnets: ['fd00:2::/112'],
  };
  const problemsOf = (values: object, addressing: Addressing = usual): string[] =>
    validateSpec(
      aSpec((raw) => {
        network({ ...six, ...values })(raw as Raw);
        if (addressing.pool === 'private') delete (raw as Raw)['network']!['gateway'];
      }),
      { sizes: ['small'], hosts: [], addressing },
    ).map(({ field, message }) => `${field}: ${message}`);

  it('is valid with a gateway on the link or in its subnet', () => {
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ gateway: 'fd00:10::1', addressPool: ['FD00:10:0::20', 'fd00:10::ffff-fd00:10::1:2'] })).toEqual(
      [],
    );
  });

  it.each<[string, object, string]>([
    [
      'one of another subnet',
      { addressPool: ['fd00:11::20-fd00:11::3f'], gateway: 'fd00:10::1' },
      'network.addressPool[0]: fd00:11::20-fd00:11::3f is outside the usable addresses of the subnet of network.gateway and network.prefix, fd00:10:: to fd00:10::ffff:ffff:ffff:ffff. Correct one of them.',
    ],
    [
      'one with an address of IPv4',
      { addressPool: ['fd00:10::20-fd00:10::3f', '192.168.10.5'] },
      'network.addressPool[1]: 192.168.10.5 is outside the usable addresses of the subnet of network.gateway and network.prefix, fd00:10:: to fd00:10::ffff:ffff:ffff:ffff. Correct one of them.',
    ],
    [
      'one of two families in a range',
      { addressPool: ['192.168.10.5-fd00:10::3f'] },
      'network.addressPool[0]: 192.168.10.5-fd00:10::3f is neither an IP address nor a range like 192.168.10.20-192.168.10.60. Correct it.',
    ],
    [
      'one with the address of all routers',
      { addressPool: ['fd00:10::-fd00:10::3f'] },
      'network.addressPool[0]: fd00:10::-fd00:10::3f is outside',
    ],
    [
      'a gateway that is the address of all routers',
      { gateway: 'fd00:10::' },
      'network.gateway: fd00:10:: is the first or last address',
    ],
    [
      'DHCP',
      { addressAssignment: 'DHCP', gateway: undefined },
      'network.addressAssignment: DHCP needs IPv4 addresses in network.addressPool. Use Static.',
    ],
    [
      'more addresses of IPv6',
      { ipv6: { subnet: 'fd00:20::/64' } },
      'network.ipv6: Not allowed: network.addressPool is IPv6 itself. Omit it.',
    ],
    [
      'Pods of IPv4',
      { podSubnets: ['10.244.0.0/16'] },
      'network.podSubnets[0]: 10.244.0.0/16 is IPv4, but nodes have IPv6 addresses. Use a range like fd00:1::/56 for Pods, fd00:2::/112 for Services.',
    ],
    [
      'Services of both families',
      { serviceSubnets: ['fd00:2::/112', '10.96.0.0/12'] },
      'network.serviceSubnets[1]: Nodes have no IPv4 addresses, so there is one range only. Omit 10.96.0.0/12.',
    ],
    [
      'Pods in its subnet',
      { podSubnets: ['fd00:10::/56'] },
      "network.podSubnets[0]: fd00:10::/56 overlaps the nodes' subnet. Choose another range.",
    ],
  ])('cannot be %s', (_, values, problem) => {
    expect(problemsOf(values)).toEqual([expect.stringContaining(problem)]);
  });

  it('is refused where nodes have addresses of IPv4 already', () => {
    expect(problemsOf({}, { pool: 'private', endpoint: 'first-node' })).toContain(
      'network.addressPool[0]: The private network needs IPv4 addresses. Add IPv6 by network.ipv6.',
    );
  });
});

it('a prefix of IPv4 leaves addresses for nodes', () => {
  const spec = aSpec((raw) => network({ prefix: 31 })(raw as Raw));
  expect(validateSpec(spec, { sizes: ['small'], hosts: [], addressing: usual })).toMatchObject([
    { field: 'network.prefix', message: '31 is too long for IPv4: it is at most 30.' },
  ]);
});
