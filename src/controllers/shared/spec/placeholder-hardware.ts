import type { NetworkSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import type { NodeHardware, NodeLink } from '../../../engine/node.ts';
import type { IpRange } from '../../../lib/net/ip.ts';

type Family = IpRange['family'];

/** All addresses are from documentation ranges. They validate like the real ones. */
const nodeNetwork = {
  4: { endpoint: '192.0.2.10', address: '192.0.2.11/24', gateway: '192.0.2.1' },
  6: { endpoint: '2001:db8::10', address: '2001:db8::11/64', gateway: '2001:db8::1' },
} as const;

export const placeholderEndpointOf = (family: Family): string => nodeNetwork[family].endpoint;

const mac = '02:00:00:00:00:00';
/** A machine whose address comes from its hosting provider: the prefix may be a single address. */
const selfAddressedLink: NodeLink = {
  mac,
  addresses: ['203.0.113.41/32', '2001:db8:7a::1/64'],
  gateway: '203.0.113.1',
  onLinkGateway: true,
  gateway6: 'fe80::1',
};

const linkByPool: Readonly<Record<Addressing['pool'], (family: Family) => NodeLink>> = {
  main: (family) => ({ mac, addresses: [nodeNetwork[family].address], gateway: nodeNetwork[family].gateway }),
  private: () => ({ ...selfAddressedLink, vlan: { id: 4000, addresses: [nodeNetwork[4].address], mtu: 1400 } }),
  none: () => selfAddressedLink,
};

/** A machine that gets its address and gateway from a DHCP server. */
const dhcpLink: NodeLink = { mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: nodeNetwork[4].address };

/** Hardware as a platform with this addressing describes it, without a real machine. */
export const describePlaceholderHardware = (
  { pool, endpoint }: Addressing,
  { addressAssignment }: Pick<NetworkSpec, 'addressAssignment'>,
  family: Family,
): NodeHardware => ({
  installDisk: '/dev/any',
  imagePlatform: pool === 'main' ? 'nocloud' : 'metal',
  providerId: 'any://any',
  links: [pool === 'main' && addressAssignment === 'DHCP' ? dhcpLink : linkByPool[pool](family)],
  ...(typeof endpoint === 'object' ? { floatingAddresses: ['198.51.100.7'] } : {}),
});
