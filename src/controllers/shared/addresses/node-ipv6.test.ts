import { expect, it } from 'vitest';
import type { NodeHardware, NodeLink } from '../../../engine/node.ts';
import { addIpv6Addresses } from './node-ipv6.ts';

const mac = '02:00:00:00:00:00';
const first: NodeLink = { mac, addresses: ['192.168.10.21/24'], gateway: '192.168.10.1' };
const second: NodeLink = { mac: '02:00:00:00:00:01', addresses: [], dhcp: false };
const hardware = (...links: NodeLink[]): NodeHardware => ({
  installDisk: '/dev/vda',
  imagePlatform: 'nocloud',
  providerId: 'any://any',
  links,
});
const ipv6 = { subnet: 'fd00:10::/64', gateway: 'fe80::1' };
const linksOf = (...links: NodeLink[]) => addIpv6Addresses(hardware(...links), ipv6).links;

it('leaves the hardware as it is without IPv6', () => {
  expect(addIpv6Addresses(hardware(first), undefined)).toEqual(hardware(first));
});

it('derives the address from that of the pool, on the link between the nodes alone', () => {
  expect(linksOf(first, second)).toEqual([
    { ...first, addresses: ['192.168.10.21/24', 'fd00:10::c0a8:a15/64'], gateway6: 'fe80::1' },
    second,
  ]);
});

it('gives it to a link with DHCP as well, whose IPv4 address is reserved', () => {
  const leased: NodeLink = { mac, addresses: [], dhcp: { routeMetric: 1024 }, reserved: '192.168.10.21/24' };
  expect(linksOf(leased)).toEqual([{ ...leased, addresses: ['fd00:10::c0a8:a15/64'], gateway6: 'fe80::1' }]);
});

it('gives it to the private network, and leaves the public addresses alone', () => {
  const vlan = { id: 4000, addresses: ['192.168.10.21/24'], mtu: 1400 };
  const server: NodeLink = { mac, addresses: ['203.0.113.41/32', '2001:db8:7a::1/64'], gateway6: 'fe80::1', vlan };
  expect(linksOf(server)).toEqual([
    { ...server, vlan: { ...vlan, addresses: ['192.168.10.21/24', 'fd00:10::c0a8:a15/64'] } },
  ]);
});
