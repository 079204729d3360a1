import { Environment } from '@marcbachmann/cel-js';
import { toRegExp } from '../schema/re2.ts';
import { Cidr, Ip, Uri } from './network.ts';
import { Quantity } from './quantity.ts';

/** A fault inside an expression, with the words that CEL uses. */
class CelFault extends Error {}

const fault = (message: string): never => {
  throw new CelFault(message);
};

/** Stands for `sets` and `ip` in front of a dot. */
class Sets {}
class IpLibrary {}

type Handler = (...values: never[]) => unknown;

/** The functions that Kubernetes adds to CEL (`apiserver: pkg/cel/library`), by signature. */
const functions: Readonly<Record<string, Handler>> = {
  'list<A>.isSorted(): bool': (list: unknown[]) => list.every((item, i) => i === 0 || order(list[i - 1], item) <= 0),
  'list<A>.min(): A': (list: unknown[]) => extreme(list, -1, 'min'),
  'list<A>.max(): A': (list: unknown[]) => extreme(list, 1, 'max'),
  'list<int>.sum(): int': (list: bigint[]) => list.reduce((sum, item) => sum + item, 0n),
  'list<double>.sum(): double': (list: number[]) => list.reduce((sum, item) => sum + item, 0),
  'list<A>.indexOf(A): int': (list: unknown[], item: unknown) => BigInt(list.indexOf(item)),
  'list<A>.lastIndexOf(A): int': (list: unknown[], item: unknown) => BigInt(list.lastIndexOf(item)),
  'list<A>.slice(int, int): list<A>': (list: unknown[], from: bigint, to: bigint) =>
    list.slice(Number(from), Number(to)),
  'list<A>.distinct(): list<A>': (list: unknown[]) => [...new Set(list)],
  'list<A>.reverse(): list<A>': (list: unknown[]) => list.toReversed(),
  'list<A>.sort(): list<A>': (list: unknown[]) => list.toSorted(order),

  'string.charAt(int): string': (text: string, at: bigint) =>
    Number(at) <= text.length ? text.charAt(Number(at)) : fault(`index out of range: ${at}`),
  'string.replace(string, string): string': (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  'string.replace(string, string, int): string': (text: string, from: string, to: string, count: bigint) =>
    replaceSome(text, from, to, Number(count)),
  'string.reverse(): string': (text: string) => [...text].reverse().join(''),
  'string.find(string): string': (text: string, pattern: string) => toRegExp(pattern).exec(text)?.[0] ?? '',
  'string.findAll(string): list<string>': (text: string, pattern: string) => findAll(text, pattern, -1),
  'string.findAll(string, int): list<string>': (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),

  'isURL(string): bool': (text: string) => Uri.parse(text) !== undefined,
  'url(string): URL': (text: string) =>
    Uri.parse(text) ?? fault(`URL parse error during conversion from string: ${text}`),
  'URL.getScheme(): string': (url: Uri) => url.scheme,
  'URL.getHost(): string': (url: Uri) => url.host,
  'URL.getHostname(): string': (url: Uri) => url.hostname,
  'URL.getPort(): string': (url: Uri) => url.port,
  'URL.getEscapedPath(): string': (url: Uri) => url.path,
  'URL.getQuery(): map<string, list<string>>': (url: Uri) => url.values,

  'isIP(string): bool': (text: string) => Ip.parse(text) !== undefined,
  'ip(string): IP': (text: string) =>
    Ip.parse(text) ?? fault(`IP Address "${text}" parse error during conversion from string`),
  'string(IP): string': (ip: Ip) => ip.text,
  'IP.family(): int': (ip: Ip) => BigInt(ip.family),
  'IP.isUnspecified(): bool': (ip: Ip) => ip.value === 0n,
  'IP.isLoopback(): bool': (ip: Ip) => ip.isIn('127.0.0.0', 8) || ip.isIn('::1', 128),
  'IP.isLinkLocalMulticast(): bool': (ip: Ip) => ip.isIn('224.0.0.0', 24) || ip.isIn('ff02::', 16),
  'IP.isLinkLocalUnicast(): bool': (ip: Ip) => ip.isIn('169.254.0.0', 16) || ip.isIn('fe80::', 10),
  'IP.isGlobalUnicast(): bool': isGlobalUnicast,
  'IpLibrary.isCanonical(string): bool': (_: IpLibrary, text: string) => isCanonical(text),

  'isCIDR(string): bool': (text: string) => Cidr.parse(text) !== undefined,
  'cidr(string): CIDR': (text: string) =>
    Cidr.parse(text) ?? fault(`network address parse error during conversion from string: ${text}`),
  'string(CIDR): string': (cidr: Cidr) => cidr.text,
  'CIDR.containsIP(string): bool': (cidr: Cidr, text: string) =>
    cidr.contains(Ip.parse(text) ?? fault(`IP Address "${text}" parse error during conversion from string`)),
  'CIDR.containsIP(IP): bool': (cidr: Cidr, ip: Ip) => cidr.contains(ip),
  'CIDR.containsCIDR(string): bool': (cidr: Cidr, text: string) =>
    containsCidr(cidr, Cidr.parse(text) ?? fault(`network address parse error during conversion from string: ${text}`)),
  'CIDR.containsCIDR(CIDR): bool': (cidr: Cidr, other: Cidr) => containsCidr(cidr, other),
  'CIDR.ip(): IP': (cidr: Cidr) => cidr.base,
  'CIDR.masked(): CIDR': (cidr: Cidr) => cidr.masked(),
  'CIDR.prefixLength(): int': (cidr: Cidr) => BigInt(cidr.prefix),

  'isQuantity(string): bool': (text: string) => Quantity.parse(text) !== undefined,
  'quantity(string): Quantity': (text: string) =>
    Quantity.parse(text) ?? fault('quantities must match the regular expression'),
  'Quantity.isInteger(): bool': (quantity: Quantity) => quantity.isInteger,
  'Quantity.asInteger(): int': (quantity: Quantity) =>
    quantity.isInteger ? quantity.integer : fault('cannot convert value to integer'),
  'Quantity.asApproximateFloat(): double': (quantity: Quantity) => quantity.float,
  'Quantity.sign(): int': (quantity: Quantity) => quantity.compare(new Quantity(0n)),
  'Quantity.add(Quantity): Quantity': (a: Quantity, b: Quantity) => new Quantity(a.nano + b.nano),
  'Quantity.add(int): Quantity': (a: Quantity, b: bigint) => new Quantity(a.nano + b * 1_000_000_000n),
  'Quantity.sub(Quantity): Quantity': (a: Quantity, b: Quantity) => new Quantity(a.nano - b.nano),
  'Quantity.sub(int): Quantity': (a: Quantity, b: bigint) => new Quantity(a.nano - b * 1_000_000_000n),
  'Quantity.isLessThan(Quantity): bool': (a: Quantity, b: Quantity) => a.compare(b) < 0n,
  'Quantity.isGreaterThan(Quantity): bool': (a: Quantity, b: Quantity) => a.compare(b) > 0n,
  'Quantity.compareTo(Quantity): int': (a: Quantity, b: Quantity) => a.compare(b),

  'Sets.contains(list<A>, list<A>): bool': (_: Sets, a: unknown[], b: unknown[]) => b.every((item) => a.includes(item)),
  'Sets.equivalent(list<A>, list<A>): bool': (_: Sets, a: unknown[], b: unknown[]) =>
    b.every((item) => a.includes(item)) && a.every((item) => b.includes(item)),
  'Sets.intersects(list<A>, list<A>): bool': (_: Sets, a: unknown[], b: unknown[]) =>
    b.some((item) => a.includes(item)),

  /** Stands in for `has()` while types are checked, because the library's own macro believes in every field. */
  'hasFieldOf(dyn): bool': () => true,
};

function order(a: unknown, b: unknown): number {
  if (a === b) return 0;
  return (a as number) < (b as number) ? -1 : 1;
}

function extreme(list: readonly unknown[], sign: 1 | -1, name: string): unknown {
  if (list.length === 0) return fault(`${name} called on empty list`);
  return list.reduce((best, item) => (order(item, best) * sign > 0 ? item : best));
}

function replaceSome(text: string, from: string, to: string, count: number): string {
  if (count < 0) return text.replaceAll(from, () => to);
  let left = count;
  return text.replaceAll(from, (found) => (left-- > 0 ? to : found));
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const base = toRegExp(pattern);
  const found = [...text.matchAll(new RegExp(base.source, `${base.flags}g`))].map(([whole]) => whole);
  return limit < 0 ? found : found.slice(0, limit);
}

function isGlobalUnicast(ip: Ip): boolean {
  const isMulticast = ip.isIn('224.0.0.0', 4) || ip.isIn('ff00::', 8);
  const isBroadcast = ip.family === 4 && ip.value === 0xffffffffn;
  const isLocal = ip.isIn('127.0.0.0', 8) || ip.isIn('::1', 128) || ip.isIn('169.254.0.0', 16) || ip.isIn('fe80::', 10);
  return ip.value !== 0n && !isMulticast && !isBroadcast && !isLocal;
}

function isCanonical(text: string): boolean {
  const ip = Ip.parse(text) ?? fault(`IP Address "${text}" parse error during conversion from string`);
  return new Cidr(ip as Ip, (ip as Ip).bits).masked().base.text === text;
}

const containsCidr = (outer: Cidr, inner: Cidr): boolean => inner.prefix >= outer.prefix && outer.contains(inner.base);

/**
 * A new environment with all functions and no variables. It is built from scratch: operators that are added to a clone would show
 * up in its siblings too (@marcbachmann/cel-js 8.0).
 */
export function newEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: true,
    enableOptionalTypes: true,
  });
  environment
    .registerType('URL', { ctor: Uri, fields: {} })
    .registerType('IP', { ctor: Ip, fields: {} })
    .registerType('CIDR', { ctor: Cidr, fields: {} })
    .registerType('Quantity', { ctor: Quantity, fields: {} })
    .registerType('Sets', { ctor: Sets, fields: {} })
    .registerType('IpLibrary', { ctor: IpLibrary, fields: {} })
    .registerConstant('sets', 'Sets', new Sets())
    .registerConstant('ip', 'IpLibrary', new IpLibrary());
  for (const [signature, handler] of Object.entries(functions)) {
    environment.registerFunction(signature, handler as (...values: unknown[]) => unknown);
  }
  return environment;
}

const durations = new Environment().registerVariable('text', 'string').parse('duration(text)');

/** CEL's own value for a Go duration. Throws when the text is none. */
export const toDuration = (text: string): unknown => durations({ text });
