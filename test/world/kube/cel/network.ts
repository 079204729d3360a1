import { isIP } from 'node:net';

/** An IP address in CEL: its family and its number. */
export class CelIp {
  readonly family: 4 | 6;
  readonly value: bigint;
  readonly text: string;

  constructor(family: 4 | 6, value: bigint, text: string) {
    this.family = family;
    this.value = value;
    this.text = text;
  }

  /** Undefined for an invalid address; zones and mapped IPv4 addresses are refused, as in Kubernetes. */
  static parse(text: string): CelIp | undefined {
    const family = isIP(text);
    if (family === 0 || text.includes('%') || /^::ffff:\d+\./i.test(text)) return undefined;
    if (family === 4) return new CelIp(4, toNumber(text.split('.').map(Number), 8n), text);
    return new CelIp(6, toNumber(groupsOf(text), 16n), text);
  }

  get bits(): number {
    return this.family === 4 ? 32 : 128;
  }

  /** True when the address lies in `base/prefix`. */
  isIn(base: string, prefix: number): boolean {
    return CelCidr.parse(`${base}/${prefix}`)?.contains(this) ?? false;
  }
}

const toNumber = (parts: readonly number[], width: bigint): bigint =>
  parts.reduce((sum, part) => (sum << width) | BigInt(part), 0n);

function groupsOf(text: string): number[] {
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const plain = dotted
    ? text.slice(0, dotted.index) +
      [0, 2].map((i) => ((Number(dotted[i + 1]) << 8) | Number(dotted[i + 2])).toString(16)).join(':')
    : text;
  const [head = '', tail] = plain.split('::');
  const parse = (part: string): number[] => (part ? part.split(':').map((group) => Number.parseInt(group, 16)) : []);
  if (tail === undefined) return parse(head);
  const [a, b] = [parse(head), parse(tail)];
  return [...a, ...Array<number>(8 - a.length - b.length).fill(0), ...b];
}

/** A range of addresses. */
export class CelCidr {
  readonly base: CelIp;
  readonly prefix: number;

  constructor(base: CelIp, prefix: number) {
    this.base = base;
    this.prefix = prefix;
  }

  static parse(text: string): CelCidr | undefined {
    const [address = '', prefix = '', ...more] = text.split('/');
    const base = CelIp.parse(address);
    if (!base || more.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > base.bits) return undefined;
    return new CelCidr(base, Number(prefix));
  }

  contains(ip: CelIp): boolean {
    const shift = BigInt(this.base.bits - this.prefix);
    return ip.family === this.base.family && ip.value >> shift === this.base.value >> shift;
  }

  /** The range in canonical form, with its first address. */
  masked(): CelCidr {
    const shift = BigInt(this.base.bits - this.prefix);
    const value = (this.base.value >> shift) << shift;
    return new CelCidr(new CelIp(this.base.family, value, formatIp(this.base.family, value)), this.prefix);
  }

  get text(): string {
    return `${this.base.text}/${this.prefix}`;
  }
}

export function formatIp(family: 4 | 6, value: bigint): string {
  const width = family === 4 ? 8n : 16n;
  const count = family === 4 ? 4 : 8;
  const mask = (1n << width) - 1n;
  const parts = Array.from({ length: count }, (_, i) => (value >> (width * BigInt(count - 1 - i))) & mask);
  if (family === 4) return parts.join('.');
  const long = parts.map((part) => part.toString(16)).join(':');
  const zeros = [...long.matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort((a, b) => b[0].length - a[0].length)[0];
  if (!zeros) return long;
  const before = long.slice(0, zeros.index);
  const after = long.slice(zeros.index + zeros[0].length);
  return `${before}::${after.replace(/^:/, '')}`;
}

/** A URL by the rules of Go's `url.ParseRequestURI`: absolute, or an absolute path. */
export class CelUrl {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, host: string, path: string, query: string) {
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
  }

  static parse(text: string): CelUrl | undefined {
    if (/[\s\u007f]/.test(text)) return undefined;
    const found = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?$/.exec(text);
    if (!found) return undefined;
    const [, scheme = '', authority, path = '', query = ''] = found;
    if (!scheme && !path.startsWith('/')) return undefined;
    const host = (authority ?? '').replace(/^[^@]*@/, '');
    if (!/^(\[[0-9A-Fa-f:.%]*\]|[^:[\]]*)(:\d*)?$/.test(host)) return undefined;
    return new CelUrl(scheme.toLowerCase(), host, path, query);
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, '').replace(/^\[|\]$/g, '');
  }

  get port(): string {
    return /:(\d+)$/.exec(this.host)?.[1] ?? '';
  }

  get values(): Map<string, string[]> {
    const values = new Map<string, string[]>();
    for (const [key, value] of new URLSearchParams(this.query)) values.set(key, [...(values.get(key) ?? []), value]);
    return values;
  }
}
