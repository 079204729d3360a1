import type { NetworkSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing, NodeHardware, NodeLink } from '../../../engine/platform.ts';

/** All addresses are of the documentation ranges: whatever a pool or a machine brings will be as good. */
export const placeholderEndpoint = '192.0.2.10';

const mac = '02:00:00:00:00:00';
/** A machine that somebody else has given its address: its network may be no wider than that. */
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

/** The same of a node that a DHCP server tells its address and its gateway. */
const dhcpLink: NodeLink = { mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: '192.0.2.11/24' };

/** Hardware of no machine, as a platform that does so with addresses would describe it. */
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
