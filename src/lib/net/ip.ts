import { isIPv4, isIPv6 } from 'node:net';

/** Consecutive addresses of one family, as numbers. */
export interface IpRange {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

/** `10.244.0.0/16` or `fd00::/56`. */
export interface IpSubnet extends IpRange {
  readonly prefix: number;
  /** Whether it was written with its first address, as usual for subnets. */
  readonly exact: boolean;
}

/** The single address in a text, of either family; undefined when the text is no address. */
export function parseIp(text: string): IpRange | undefined {
  const value = isIPv4(text)
    ? numberOf(text.split('.').map(Number), 8n)
    : isIPv6(text)
      ? ipv6NumberOf(text)
      : undefined;
  return value === undefined ? undefined : { family: isIPv4(text) ? 4 : 6, first: value, last: value };
}

/** `192.168.10.20`, `192.168.10.20-192.168.10.60` or the same of IPv6; undefined when it is neither, or descending. */
export function parseIpRange(text: string): IpRange | undefined {
  const [from = '', to = from, ...rest] = text.split('-');
  const [first, last] = [parseIp(from), parseIp(to)];
  if (rest.length > 0 || !first || !last || first.family !== last.family || last.first < first.first) return undefined;
  return { family: first.family, first: first.first, last: last.first };
}

/** The addresses of the subnet of an address, the first and last one included; undefined for too long a prefix. */
export function ipSubnetOf({ family, first: address }: IpRange, prefix: number): IpRange | undefined {
  const free = addressBits[family] - prefix;
  if (free < 0) return undefined;
  const first = (address >> BigInt(free)) << BigInt(free);
  return { family, first, last: first + (1n << BigInt(free)) - 1n };
}

/** Number of bits of an address. */
const addressBits = { 4: 32, 6: 128 } as const;

/** Undefined when a text is no subnet. */
export function parseSubnet(text: string): IpSubnet | undefined {
  const [address = '', bits = '', ...rest] = text.split('/');
  const host = parseIp(address);
  const prefix = Number(bits);
  if (!host || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  const range = ipSubnetOf(host, prefix);
  return range && { ...range, prefix, exact: host.first === range.first };
}

/** The usual text of an address. */
export const formatIp = ({ family, first }: IpRange): string =>
  family === 6 ? formatIpv6(first) : [24n, 16n, 8n, 0n].map((bits) => (first >> bits) & 255n).join('.');

/** The usual text of an address that was written in any way; other texts as they are. */
export function canonicalIp(text: string): string {
  const address = parseIp(text);
  return address ? formatIp(address) : text;
}

/** The shortest text of an IPv6 address (RFC 5952), which is what URLs are written with. */
export const formatIpv6 = (value: bigint): string => hostOfUrl(new URL(`http://[${listIpv6Groups(value).join(':')}]`));

/** The eight groups of an IPv6 address in hexadecimal, without leading zeros. */
export const listIpv6Groups = (value: bigint): string[] =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));

/** The host of a URL, an IPv6 address without its brackets. */
export const hostOfUrl = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** `host:port` for a URL, with brackets around an IPv6 address. */
export const toAuthority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

export const ipRangesOverlap = (a: IpRange, b: IpRange): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last;

/** Number of addresses in the ranges; an address in two ranges counts once. */
export function countIpAddresses(ranges: readonly IpRange[]): number {
  let count = 0n;
  for (const family of [4, 6] as const) {
    let covered = -1n;
    for (const range of ranges.filter((one) => one.family === family).sort((a, b) => (a.first < b.first ? -1 : 1))) {
      const first = range.first > covered ? range.first : covered + 1n;
      if (range.last < first) continue;
      count += range.last - first + 1n;
      covered = range.last;
    }
  }
  return Number(count);
}

/** Every address of the ranges in order, as text. A range of IPv6 has more of them than can be listed. */
export function* listIpAddresses(ranges: readonly IpRange[]): Generator<string> {
  for (const { family, first: from, last } of ranges)
    for (let first = from; first <= last; first += 1n) yield formatIp({ family, first, last: first });
}

const numberOf = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((value, part) => (value << bits) + BigInt(part), 0n);

/**
 * Groups around `::`, the last two of which may be written as an IPv4 address. A zone is rejected: it only has a
 * meaning on its own host.
 */
function ipv6NumberOf(text: string): bigint | undefined {
  if (text.includes('%')) return undefined;
  const [left = [], right] = text.split('::').map(groupsOf);
  const missing = 8 - left.length - (right?.length ?? 0);
  return numberOf([...left, ...Array<number>(missing).fill(0), ...(right ?? [])], 16n);
}

function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
