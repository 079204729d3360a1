import { expect, it } from 'vitest';
import { clusterLinkOf, linkAddressesOf, type NodeLink } from './node.ts';

const first: NodeLink = { mac: '02:00:00:00:00:00', addresses: ['192.168.10.21/24'] };
const tagged: NodeLink = { ...first, vlan: { id: 4000, addresses: ['10.0.0.2/24'] } };

it('the link between the nodes is the private network, or else the first card', () => {
  expect(clusterLinkOf({ links: [first, tagged] })).toBe(tagged);
  expect(clusterLinkOf({ links: [first] })).toBe(first);
  expect(clusterLinkOf({ links: [] })).toBeUndefined();
});

it('the reserved address comes before the static IPv6 address of a link with DHCP', () => {
  expect(linkAddressesOf(first)).toEqual(['192.168.10.21/24']);
  const leased = { ...first, addresses: ['fd00:10::c0a8:a15/64'], reserved: '192.168.10.21/24' };
  expect(linkAddressesOf(leased)).toEqual(['192.168.10.21/24', 'fd00:10::c0a8:a15/64']);
});
