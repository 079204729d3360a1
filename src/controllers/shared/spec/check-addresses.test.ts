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
