import { isIPv6 } from 'node:net';
import { clusterLinkOf, linkAddressesOf, type NodeLink, type NodeVlan } from '../../../engine/node.ts';
import type { ConfigDocument } from '../config-document.ts';
import type { MachineConfigInput } from '../machine-config-input.ts';

/**
 * `machine.network` of the main document. It is deprecated since Talos 1.12 and accepted unchanged up to 1.14. It is
 * used instead of LinkConfig documents for two reasons. It selects a network card by MAC without an alias, so that a
 * patch with the same selector merges into the same interface. A single LinkConfig disables the default DHCP of *every*
 * link, also of the links that a platform team adds. `physical` keeps VLANs and bonds, which inherit the MAC of their
 * parent, from matching too.
 */
export function buildNetworkSection(input: MachineConfigInput): ConfigDocument {
  const { hardware, network, role } = input;
  const vip = role === 'controlplane' && input.vip !== undefined ? { vip: { ip: input.vip } } : {};
  const own = clusterLinkOf(hardware);
  return {
    interfaces: [
      ...hardware.links.map((link) => buildLink(link, link === own ? vip : {})),
      ...(role === 'controlplane' ? buildFloatingAddresses(hardware.floatingAddresses ?? []) : []),
    ],
    ...(network.nameServers.length > 0 ? { nameservers: [...network.nameServers] } : {}),
    ...(network.kubeSpan === true ? { kubespan: { enabled: true } } : {}),
  };
}

function buildLink(link: NodeLink, vip: ConfigDocument): ConfigDocument {
  const { gateway, gateway6, vlan } = link;
  const routes = [
    ...(gateway === undefined ? [] : defaultRoutes(gateway, link.onLinkGateway === true)),
    ...(gateway6 === undefined ? [] : defaultRoutes(gateway6, false)),
  ];
  return {
    deviceSelector: { hardwareAddr: link.mac, physical: true },
    ...(link.addresses.length > 0 && !link.dhcp ? { dhcp: false } : buildDhcp(link)),
    ...(link.addresses.length > 0 ? { addresses: [...link.addresses] } : {}),
    ...(routes.length > 0 ? { routes } : {}),
    ...(link.mtu === undefined ? {} : { mtu: link.mtu }),
    ...(vlan === undefined ? vip : { vlans: [{ ...buildVlan(vlan), ...vip }] }),
  };
}

const buildDhcp = ({ dhcp }: NodeLink): ConfigDocument =>
  dhcp === false ? { dhcp } : { dhcp: true, ...(dhcp && { dhcpOptions: { ...dhcp } }) };

const buildVlan = ({ id, addresses, mtu }: NodeVlan): ConfigDocument => ({
  vlanId: id,
  dhcp: false,
  addresses: [...addresses],
  ...(mtu === undefined ? {} : { mtu }),
});

/**
 * Addresses that are routed to a node from outside. On the loopback no packet ever has such an address as source, as it
 * could on a second address of a card, and by its name that link does not count as the link with the node's address.
 */
const buildFloatingAddresses = (addresses: readonly string[]): ConfigDocument[] =>
  addresses.length > 0 ? [{ interface: 'lo', addresses: addresses.map(toHostSubnet) }] : [];

/** A route without a gateway is on-link: it makes a gateway outside of the node's own prefix reachable. */
function defaultRoutes(gateway: string, onLink: boolean): ConfigDocument[] {
  return [
    ...(onLink ? [{ network: toHostSubnet(gateway) }] : []),
    { network: isIPv6(gateway) ? '::/0' : '0.0.0.0/0', gateway },
  ];
}

/**
 * The addresses for other nodes, as subnets of one address each. Kubelet and etcd are restricted to them. By default
 * both use the first routed address, which can be the virtual one of the control planes, or one on another network. A
 * node that gets another address from DHCP starts neither. A second family only counts when Pods use it, too.
 */
export function nodeAddressSubnets(input: Pick<MachineConfigInput, 'hardware' | 'network'>): string[] {
  const link = clusterLinkOf(input.hardware);
  const own = link ? advertisedAddresses(link).map((address) => address.split('/')[0] ?? address) : [];
  const wanted = own.filter((host) => !isIPv6(host) || input.network.podSubnets.some((subnet) => subnet.includes(':')));
  return (wanted.length > 0 ? wanted : own).map(toHostSubnet);
}

const advertisedAddresses = (link: NodeLink): readonly string[] => link.vlan?.addresses ?? linkAddressesOf(link);

const toHostSubnet = (host: string): string => `${host}/${isIPv6(host) ? 128 : 32}`;
