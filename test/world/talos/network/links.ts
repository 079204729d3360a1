import { BlockList, isIP } from 'node:net';
import { formatIp, parseIp } from '../../../../src/lib/net/ip.ts';
import type { MachineDescription } from '../../machine-runner/machine.ts';
import type { InterfaceView } from '../config/links.ts';

/** A NIC with its configuration. */
export interface NodeInterface {
  readonly name: string;
  readonly mac: string;
  readonly index: number;
  /** With prefix length. */
  readonly addresses: readonly string[];
  /** Runs a DHCP client. Most simulated networks have no server. */
  readonly dhcp: boolean;
  /** For a VLAN on a NIC: its id. Absent for the NIC itself. */
  readonly vlan?: number;
  readonly mtu: number;
}

/** The links of a platform's network-config. */
export type PlatformLinkViews = readonly InterfaceView[];

/**
 * Applies configured links to the NICs of the machine. Machine configuration and platform are merged. A link that
 * matches no NIC is ignored, as on a real node, which then has no address.
 */
export function describeLinks(
  machine: MachineDescription,
  platform: string,
  configured: readonly InterfaceView[],
  platformLinks: PlatformLinkViews,
): NodeInterface[] {
  const cards = machine.nics.map((nic, index) => {
    const mac = nic.mac.toLowerCase();
    // `net.ifnames=0` is a kernel argument of the nocloud image; metal has predictable names.
    const name = platform === 'nocloud' ? `eth${index}` : `enp${index + 1}s0`;
    const fits = (link: InterfaceView): boolean => (link.mac !== undefined ? link.mac === mac : link.name === name);
    const mine = [...configured, ...platformLinks].filter(fits);
    const dhcp = mine.length === 0 ? configured.length === 0 : mine.some((link) => link.dhcp);
    const leased = dhcp && nic.dhcp ? [`${nic.dhcp.address}/${nic.dhcp.prefix}`] : [];
    const addresses = [...new Set([...mine.flatMap((link) => link.addresses), ...leased])];
    return { card: { name, mac, index, addresses, dhcp, mtu: 1500 }, vlans: mine.flatMap((link) => link.vlans ?? []) };
  });
  const tagged = cards.flatMap(({ card, vlans }) =>
    vlans.map(({ id, addresses, mtu = 1500 }) => ({
      name: `${card.name}.${id}`,
      mac: card.mac,
      addresses,
      vlan: id,
      mtu,
    })),
  );
  return [
    ...cards.map(({ card }) => card),
    ...tagged.map((link, i) => ({ ...link, index: cards.length + i, dhcp: false })),
  ];
}

/** Addresses of both families without prefix length, first link first. */
export const allIpsOf = (links: readonly NodeInterface[]): string[] =>
  links.flatMap((link) => link.addresses.map((address) => address.split('/')[0] ?? '')).filter((ip) => isIP(ip) > 0);

/**
 * Those that the simulator serves: of IPv4 and, for clusters of IPv6 alone, those that IPv4 addresses are mapped to. The
 * system delivers packets for them to the loopback of IPv4; other addresses of IPv6 would have to be added to it.
 */
export const ipsOf = (links: readonly NodeInterface[]): string[] =>
  allIpsOf(links).filter((ip) => isIP(ip) === 4 || ip.startsWith('::ffff:'));

/** Whether `ip` lies in `cidr`. */
export function inSubnet(ip: string, cidr: string): boolean {
  const family = isIP(ip);
  const [base = '', bits = family === 4 ? '32' : '128'] = cidr.split('/');
  if (family === 0 || isIP(base) !== family) return false;
  const list = new BlockList();
  const name = family === 4 ? 'ipv4' : 'ipv6';
  list.addSubnet(base, Number(bits), name);
  return list.check(ip, name);
}

/** The `offset`th address of a range, e.g. the address of the `kubernetes` Service. */
export function nthAddress(cidr: string, offset: number): string {
  const base = parseIp(cidr.split('/')[0] ?? '');
  return base ? formatIp({ ...base, first: base.first + BigInt(offset) }) : '';
}

/** The addresses a rule list of subnets selects; `!` excludes. Without rules: all. */
export function selectAddresses(ips: readonly string[], rules: readonly string[]): string[] {
  if (rules.length === 0) return [...ips];
  const wanted = rules.filter((rule) => !rule.startsWith('!'));
  const refused = rules.filter((rule) => rule.startsWith('!')).map((rule) => rule.slice(1));
  return ips.filter(
    (ip) =>
      (wanted.length === 0 || wanted.some((rule) => inSubnet(ip, rule))) && !refused.some((rule) => inSubnet(ip, rule)),
  );
}
