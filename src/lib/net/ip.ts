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

/** Undefined when a text is no subnet. */
export function parseSubnet(text: string): IpSubnet | undefined {
  const [address = '', bits = '', ...rest] = text.split('/');
  const host = parseIp(address);
  const prefix = Number(bits);
  if (!host || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  const free = (host.family === 4 ? 32 : 128) - prefix;
  if (free < 0) return undefined;
  const first = (host.first >> BigInt(free)) << BigInt(free);
  const last = first + (1n << BigInt(free)) - 1n;
  return { family: host.family, first, last, prefix, exact: host.first === first };
}

/** The shortest text of an IPv6 address (RFC 5952), which is what URLs are written with. */
export function formatIpv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** `host:port` for a URL, with brackets around an IPv6 address. */
export const toAuthority = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

export const ipRangesOverlap = (a: IpRange, b: IpRange): boolean =>
  a.family === b.family && a.first <= b.last && b.first <= a.last;

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
