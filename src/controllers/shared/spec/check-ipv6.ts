import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { type IpSubnet, ipRangesOverlap, parseIp, parseIpRange, parseSubnet } from '../../../lib/net/ip.ts';
import { embeddedBits } from '../addresses/node-ipv6.ts';
import { isLinkLocal, nodeFamilyOf } from './check-addresses.ts';
import { invalidField } from './invalid-field.ts';

const subnetField = 'network.ipv6.subnet';
const gatewayField = 'network.ipv6.gateway';

/** The IPv6 addresses of nodes must be distinct from other addresses, and there must be some for IPv6 Pods and Services. */
export function checkIpv6(spec: ProviderConfigSpec, { pool }: Addressing): Diagnostic[] {
  const { ipv6 } = spec.network;
  const hasIpv6Pool = pool !== 'none' && nodeFamilyOf(spec) === 6;
  if (!ipv6) return pool === 'none' || hasIpv6Pool ? [] : checkMissing(spec);
  if (hasIpv6Pool) return [invalidField('network.ipv6', 'Not allowed: network.addressPool is IPv6 itself. Omit it.')];
  if (pool === 'none')
    return [invalidField('network.ipv6', 'Not allowed: nodes of this platform have their own addresses. Omit it.')];
  const subnet = parseSubnet(ipv6.subnet);
  const problem = subnet ? findSubnetProblem(ipv6.subnet, subnet) : `${ipv6.subnet} is not a CIDR range.`;
  if (!subnet || problem !== undefined) return [invalidField(subnetField, `${problem} Use a range like fd00:10::/64.`)];
  if (ipv6.gateway === undefined) return [];
  const message =
    pool === 'private'
      ? 'Not allowed: the private network has no gateway, and the nodes have their own. Omit it.'
      : findGatewayProblem(ipv6.gateway, subnet, spec);
  return message === undefined ? [] : [invalidField(gatewayField, message)];
}

/** Without an address of the family, the network plugin of a node does not start. Patches may install another one. */
function checkMissing({ network, talos, controlPlane }: ProviderConfigSpec): Diagnostic[] {
  if (talos.patches.length + controlPlane.patches.length > 0) return [];
  return (['podSubnets', 'serviceSubnets'] as const)
    .filter((name) => parseSubnet(network[name][1] ?? '')?.family === 6)
    .map((name) =>
      invalidField(
        `network.${name}[1]`,
        `${network[name][1]} is IPv6, but nodes have no IPv6 addresses. Set network.ipv6.subnet, or omit the range.`,
      ),
    );
}

function findSubnetProblem(text: string, { family, exact, prefix }: IpSubnet): string | undefined {
  if (family !== 6) return `${text} is not an IPv6 range.`;
  if (!exact) return `${text} does not begin with the first address of its range.`;
  const longest = 128 - embeddedBits;
  return prefix <= longest ? undefined : `${text} is too small: the prefix length is at most ${longest}.`;
}

function findGatewayProblem(text: string, subnet: IpSubnet, { network }: ProviderConfigSpec): string | undefined {
  const gateway = parseIp(text);
  if (gateway?.family !== 6) return `${text} is not an IPv6 address. Use an address like fd00:10::1 or fe80::1.`;
  if (isLinkLocal(gateway)) return undefined;
  if (!ipRangesOverlap(gateway, subnet))
    return `${text} is neither in ${network.ipv6?.subnet} nor a link-local address. Correct it.`;
  const offset = gateway.first - subnet.first;
  const isTaken = (network.addressPool ?? []).some((entry) => {
    const range = parseIpRange(entry);
    return range !== undefined && range.first <= offset && offset <= range.last;
  });
  return isTaken ? `${text} is the IPv6 address of an address of network.addressPool. Use another one.` : undefined;
}
