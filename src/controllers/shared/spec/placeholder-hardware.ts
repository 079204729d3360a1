import type { NetworkSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import type { NodeHardware, NodeLink } from '../../../engine/node.ts';

/** All addresses are from documentation ranges. They validate like the real ones. */
export const placeholderEndpoint = '192.0.2.10';

const mac = '02:00:00:00:00:00';
/** A machine whose address comes from its hosting provider: the prefix may be a single address. */
const selfAddressedLink: NodeLink = {
  mac,
  addresses: ['203.0.113.41/32', '2001:db8:7a::1/64'],
  gateway: '203.0.113.1',
  onLinkGateway: true,
  gateway6: 'fe80::1',
};

const linkByPool: Readonly<Record<Addressing['pool'], NodeLink>> = {
  main: { mac, addresses: ['192.0.2.11/24'], gateway: '192.0.2.1' },
  private: { ...selfAddressedLink, vlan: { id: 4000, addresses: ['192.0.2.11/24'], mtu: 1400 } },
  none: selfAddressedLink,
};

/** A machine that gets its address and gateway from a DHCP server. */
const dhcpLink: NodeLink = { mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: '192.0.2.11/24' };

/** Hardware as a platform with this addressing describes it, without a real machine. */
export const describePlaceholderHardware = (
  { pool, endpoint }: Addressing,
  { addressAssignment }: Pick<NetworkSpec, 'addressAssignment'>,
): NodeHardware => ({
  installDisk: '/dev/any',
  imagePlatform: pool === 'main' ? 'nocloud' : 'metal',
  providerId: 'any://any',
  links: [pool === 'main' && addressAssignment === 'DHCP' ? dhcpLink : linkByPool[pool]],
  ...(typeof endpoint === 'object' ? { floatingAddresses: ['198.51.100.7'] } : {}),
});
