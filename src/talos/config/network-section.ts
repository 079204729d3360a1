import { isIPv6 } from 'node:net';
import type { NodeHardware, NodeLink } from '../../engine/platform.ts';
import type { ConfigDocument } from './document.ts';
import type { MachineConfigInput } from './input.ts';

/**
 * `machine.network` of the main document. It is deprecated since Talos 1.12 and accepted unchanged up to 1.14, and kept
 * here in preference to LinkConfig documents for two reasons. It selects a network card by MAC with no detour over an
 * alias, so that a patch with the same selector merges into the same interface; and a single LinkConfig switches off
 * the default DHCP of *every* link, also of those that a platform team adds. `physical` keeps VLANs and bonds, which
 * inherit the MAC of their parent, from matching too.
 */
export function networkSection(input: MachineConfigInput): ConfigDocument {
  const { hardware, network, role } = input;
  const vip = role === 'controlplane' && input.vip !== undefined ? { vip: { ip: input.vip } } : {};
  return {
    interfaces: hardware.links.map((link, i) => ({ ...linkSection(link), ...(i === 0 ? vip : {}) })),
    ...(network.nameServers.length > 0 ? { nameservers: [...network.nameServers] } : {}),
  };
}

function linkSection(link: NodeLink): ConfigDocument {
  return {
    deviceSelector: { hardwareAddr: link.mac, physical: true },
    ...(link.addresses.length > 0 ? { dhcp: false, addresses: [...link.addresses] } : { dhcp: true }),
    ...(link.gateway === undefined ? {} : { routes: routesOver(link.gateway, link.onLinkGateway === true) }),
    ...(link.mtu === undefined ? {} : { mtu: link.mtu }),
  };
}

/** A route without a gateway is on-link: that is how a gateway outside of the node's own prefix is reached. */
function routesOver(gateway: string, onLink: boolean): ConfigDocument[] {
  const six = isIPv6(gateway);
  return [
    ...(onLink ? [{ network: `${gateway}/${six ? 128 : 32}` }] : []),
    { network: six ? '::/0' : '0.0.0.0/0', gateway },
  ];
}

/**
 * The node's own addresses as subnets of one address each. Kubelet and etcd are held to them: left to themselves both
 * take the first address that is routed, which can be the virtual one of the control planes or one on a second link.
 */
export function ownSubnets(hardware: NodeHardware): string[] {
  const own = hardware.links[0]?.addresses ?? [];
  return own.map((address) => {
    const host = address.split('/')[0] ?? address;
    return `${host}/${isIPv6(host) ? 128 : 32}`;
  });
}
