/** An inclusive range of IPv4 addresses as numbers. */
export interface Ipv4Range {
  readonly first: number;
  readonly last: number;
}

/** The number of `192.168.10.20`; undefined when it is no IPv4 address. */
export function parseIpv4(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256 + Number(part);
  }
  return value;
}

export const formatIpv4 = (value: number): string =>
  [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join('.');

/** `192.168.10.20` or `192.168.10.20-192.168.10.60`; undefined when it is neither or descending. */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const [from = '', to = from, ...rest] = text.split('-');
  const first = parseIpv4(from);
  const last = parseIpv4(to);
  if (rest.length > 0 || first === undefined || last === undefined || last < first) return undefined;
  return { first, last };
}

/** The addresses of the subnet of `address`, network and broadcast address included. */
export function ipv4SubnetOf(address: number, prefix: number): Ipv4Range {
  const size = 2 ** (32 - prefix);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
}

export const ipv4RangeContains = (range: Ipv4Range, address: number): boolean =>
  address >= range.first && address <= range.last;

export const ipv4RangesOverlap = (a: Ipv4Range, b: Ipv4Range): boolean => a.first <= b.last && b.first <= a.last;

/** Number of addresses in the ranges; an address in two ranges counts once. */
export function countIpv4Addresses(ranges: readonly Ipv4Range[]): number {
  let count = 0;
  let covered = -1;
  for (const range of [...ranges].sort((a, b) => a.first - b.first)) {
    const first = Math.max(range.first, covered + 1);
    if (range.last < first) continue;
    count += range.last - first + 1;
    covered = range.last;
  }
  return count;
}

/** Every address of the ranges in order, as text. Finite: ranges are bounded by 2^32. */
export function* listIpv4Addresses(ranges: readonly Ipv4Range[]): Generator<string> {
  for (const range of ranges) for (let value = range.first; value <= range.last; value += 1) yield formatIpv4(value);
}
