import type { NetworkSpec } from '../../../api/provider-config-spec.ts';
import { clusterLinkOf, type NodeHardware, type NodeLink } from '../../../engine/node.ts';
import { formatIpv6, parseIp, parseSubnet } from '../../../lib/net/ip.ts';

type Ipv6Spec = NonNullable<NetworkSpec['ipv6']>;

/** The number of bits that an IPv4 address takes at the end of an IPv6 address. */
export const embeddedBits = 32;

/**
 * Gives the link between the nodes an IPv6 address beside its address of the pool. It is derived from that address, so
 * it needs no claim of its own, and is unique as long as that one is.
 */
export function addIpv6Addresses(hardware: NodeHardware, ipv6: Ipv6Spec | undefined): NodeHardware {
  if (!ipv6) return hardware;
  const own = clusterLinkOf(hardware);
  return { ...hardware, links: hardware.links.map((link) => (link === own ? addToLink(link, ipv6) : link)) };
}

function addToLink(link: NodeLink, ipv6: Ipv6Spec): NodeLink {
  const { vlan } = link;
  if (vlan) return { ...link, vlan: { ...vlan, addresses: withIpv6(vlan.addresses, ipv6) } };
  const gateway = ipv6.gateway === undefined ? {} : { gateway6: ipv6.gateway };
  const added = withIpv6(link.reserved === undefined ? link.addresses : [link.reserved], ipv6);
  return { ...link, ...gateway, addresses: link.reserved === undefined ? added : added.slice(1) };
}

function withIpv6(addresses: readonly string[], { subnet }: Ipv6Spec): readonly string[] {
  const [first, ...others] = addresses;
  const derived = first === undefined ? undefined : deriveIpv6Address(first, subnet);
  return first === undefined || derived === undefined ? addresses : [first, derived, ...others];
}

/** `fd00:10::c0a8:a15/64` for `192.168.10.21/24` in `fd00:10::/64`; undefined without such a pair. */
function deriveIpv6Address(ipv4: string, subnet: string): string | undefined {
  const host = parseIp(ipv4.split('/')[0] ?? '');
  const range = parseSubnet(subnet);
  if (host?.family !== 4 || range?.family !== 6) return undefined;
  return `${formatIpv6(range.first + host.first)}/${range.prefix}`;
}
