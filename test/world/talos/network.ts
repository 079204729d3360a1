import { isIP } from 'node:net';
import type { MachineDescription } from '../machine.ts';
import type { LinkView } from './config/view.ts';

/** A network card with what was configured on it. */
export interface Link {
  readonly name: string;
  readonly mac: string;
  readonly index: number;
  /** With prefix length. */
  readonly addresses: readonly string[];
  /** Asked for an address and nobody answered: there is no DHCP server in the world. */
  readonly dhcp: boolean;
}

/** What a platform's network-config says about links. */
export type PlatformLinks = readonly LinkView[];

/**
 * Puts configured links onto the cards of the machine. The machine configuration and the platform add up; what matches no card is ignored, as
 * on a real node, which then has no address.
 */
export function describeLinks(
  machine: MachineDescription,
  platform: string,
  configured: readonly LinkView[],
  platformLinks: PlatformLinks,
): Link[] {
  return machine.nics.map((nic, index) => {
    const mac = nic.mac.toLowerCase();
    // `net.ifnames=0` is among the kernel arguments of the nocloud image; metal has predictable names.
    const name = platform === 'nocloud' ? `eth${index}` : `enp${index + 1}s0`;
    const fits = (link: LinkView): boolean => (link.mac !== undefined ? link.mac === mac : link.name === name);
    const mine = [...configured, ...platformLinks].filter(fits);
    const addresses = [...new Set(mine.flatMap((link) => link.addresses))];
    return {
      name,
      mac,
      index,
      addresses,
      dhcp: mine.length === 0 ? configured.length === 0 : mine.some((link) => link.dhcp),
    };
  });
}

/** Addresses without prefix length, first link first. */
export const ipsOf = (links: readonly Link[]): string[] =>
  links.flatMap((link) => link.addresses.map((address) => address.split('/')[0] ?? '')).filter((ip) => isIP(ip) !== 0);

/** Whether `ip` lies in `cidr` (IPv4). */
export function inSubnet(ip: string, cidr: string): boolean {
  const [base = '', bits = '32'] = cidr.split('/');
  if (isIP(ip) !== 4 || isIP(base) !== 4) return false;
  const size = 2 ** (32 - Number(bits));
  return Math.floor(toNumber(ip) / size) === Math.floor(toNumber(base) / size);
}

/** The `offset`th address of an IPv4 range, e.g. the address of the `kubernetes` Service. */
export function nthAddress(cidr: string, offset: number): string {
  const value = toNumber(cidr.split('/')[0] ?? '') + offset;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
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

const toNumber = (ip: string): number => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
