import { Environment } from '@marcbachmann/cel-js';
import { fromRe2 } from '../schema/re2.ts';
import { CelCidr, CelIp, CelUrl } from './network.ts';
import { CelQuantity } from './quantity.ts';

/** An evaluation error, in the words of CEL. */
class CelFault extends Error {}

const throwCelFault = (message: string): never => {
  throw new CelFault(message);
};

/** Receiver of the functions of `sets` and `ip`. */
class SetsNamespace {}
class IpLibrary {}

type Handler = (...values: never[]) => unknown;

/** The functions that Kubernetes adds to CEL (`apiserver: pkg/cel/library`), by signature. */
const functions: Readonly<Record<string, Handler>> = {
  'list<A>.isSorted(): bool': (list: unknown[]) =>
    list.every((item, i) => i === 0 || compareOrdered(list[i - 1], item) <= 0),
  'list<A>.min(): A': (list: unknown[]) => extremeOf(list, -1, 'min'),
  'list<A>.max(): A': (list: unknown[]) => extremeOf(list, 1, 'max'),
  'list<int>.sum(): int': (list: bigint[]) => list.reduce((sum, item) => sum + item, 0n),
  'list<double>.sum(): double': (list: number[]) => list.reduce((sum, item) => sum + item, 0),
  'list<A>.indexOf(A): int': (list: unknown[], item: unknown) => BigInt(list.indexOf(item)),
  'list<A>.lastIndexOf(A): int': (list: unknown[], item: unknown) => BigInt(list.lastIndexOf(item)),
  'list<A>.slice(int, int): list<A>': (list: unknown[], from: bigint, to: bigint) =>
    list.slice(Number(from), Number(to)),
  'list<A>.distinct(): list<A>': (list: unknown[]) => [...new Set(list)],
  'list<A>.reverse(): list<A>': (list: unknown[]) => list.toReversed(),
  'list<A>.sort(): list<A>': (list: unknown[]) => list.toSorted(compareOrdered),

  'string.charAt(int): string': (text: string, at: bigint) =>
    Number(at) <= text.length ? text.charAt(Number(at)) : throwCelFault(`index out of range: ${at}`),
  'string.replace(string, string): string': (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  'string.replace(string, string, int): string': (text: string, from: string, to: string, count: bigint) =>
    replaceTimes(text, from, to, Number(count)),
  'string.reverse(): string': (text: string) => [...text].reverse().join(''),
  'string.find(string): string': (text: string, pattern: string) => fromRe2(pattern).exec(text)?.[0] ?? '',
  'string.findAll(string): list<string>': (text: string, pattern: string) => findAll(text, pattern, -1),
  'string.findAll(string, int): list<string>': (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),

  'isURL(string): bool': (text: string) => CelUrl.parse(text) !== undefined,
  'url(string): URL': (text: string) =>
    CelUrl.parse(text) ?? throwCelFault(`URL parse error during conversion from string: ${text}`),
  'URL.getScheme(): string': (url: CelUrl) => url.scheme,
  'URL.getHost(): string': (url: CelUrl) => url.host,
  'URL.getHostname(): string': (url: CelUrl) => url.hostname,
  'URL.getPort(): string': (url: CelUrl) => url.port,
  'URL.getEscapedPath(): string': (url: CelUrl) => url.path,
  'URL.getQuery(): map<string, list<string>>': (url: CelUrl) => url.values,

  'isIP(string): bool': (text: string) => CelIp.parse(text) !== undefined,
  'ip(string): IP': (text: string) =>
    CelIp.parse(text) ?? throwCelFault(`IP Address "${text}" parse error during conversion from string`),
  'string(IP): string': (ip: CelIp) => ip.text,
  'IP.family(): int': (ip: CelIp) => BigInt(ip.family),
  'IP.isUnspecified(): bool': (ip: CelIp) => ip.value === 0n,
  'IP.isLoopback(): bool': (ip: CelIp) => ip.isIn('127.0.0.0', 8) || ip.isIn('::1', 128),
  'IP.isLinkLocalMulticast(): bool': (ip: CelIp) => ip.isIn('224.0.0.0', 24) || ip.isIn('ff02::', 16),
  'IP.isLinkLocalUnicast(): bool': (ip: CelIp) => ip.isIn('169.254.0.0', 16) || ip.isIn('fe80::', 10),
  'IP.isGlobalUnicast(): bool': isGlobalUnicast,
  'IpLibrary.isCanonical(string): bool': (_: IpLibrary, text: string) => isCanonical(text),

  'isCIDR(string): bool': (text: string) => CelCidr.parse(text) !== undefined,
  'cidr(string): CIDR': (text: string) =>
    CelCidr.parse(text) ?? throwCelFault(`network address parse error during conversion from string: ${text}`),
  'string(CIDR): string': (cidr: CelCidr) => cidr.text,
  'CIDR.containsIP(string): bool': (cidr: CelCidr, text: string) =>
    cidr.contains(CelIp.parse(text) ?? throwCelFault(`IP Address "${text}" parse error during conversion from string`)),
  'CIDR.containsIP(IP): bool': (cidr: CelCidr, ip: CelIp) => cidr.contains(ip),
  'CIDR.containsCIDR(string): bool': (cidr: CelCidr, text: string) =>
    containsCidr(
      cidr,
      CelCidr.parse(text) ?? throwCelFault(`network address parse error during conversion from string: ${text}`),
    ),
  'CIDR.containsCIDR(CIDR): bool': (cidr: CelCidr, other: CelCidr) => containsCidr(cidr, other),
  'CIDR.ip(): IP': (cidr: CelCidr) => cidr.base,
  'CIDR.masked(): CIDR': (cidr: CelCidr) => cidr.masked(),
  'CIDR.prefixLength(): int': (cidr: CelCidr) => BigInt(cidr.prefix),

  'isQuantity(string): bool': (text: string) => CelQuantity.parse(text) !== undefined,
  'quantity(string): Quantity': (text: string) =>
    CelQuantity.parse(text) ?? throwCelFault('quantities must match the regular expression'),
  'Quantity.isInteger(): bool': (quantity: CelQuantity) => quantity.isInteger,
  'Quantity.asInteger(): int': (quantity: CelQuantity) =>
    quantity.isInteger ? quantity.integer : throwCelFault('cannot convert value to integer'),
  'Quantity.asApproximateFloat(): double': (quantity: CelQuantity) => quantity.float,
  'Quantity.sign(): int': (quantity: CelQuantity) => quantity.compare(new CelQuantity(0n)),
  'Quantity.add(Quantity): Quantity': (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nano + b.nano),
  'Quantity.add(int): Quantity': (a: CelQuantity, b: bigint) => new CelQuantity(a.nano + b * 1_000_000_000n),
  'Quantity.sub(Quantity): Quantity': (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nano - b.nano),
  'Quantity.sub(int): Quantity': (a: CelQuantity, b: bigint) => new CelQuantity(a.nano - b * 1_000_000_000n),
  'Quantity.isLessThan(Quantity): bool': (a: CelQuantity, b: CelQuantity) => a.compare(b) < 0n,
  'Quantity.isGreaterThan(Quantity): bool': (a: CelQuantity, b: CelQuantity) => a.compare(b) > 0n,
  'Quantity.compareTo(Quantity): int': (a: CelQuantity, b: CelQuantity) => a.compare(b),

  'Sets.contains(list<A>, list<A>): bool': (_: SetsNamespace, a: unknown[], b: unknown[]) =>
    b.every((item) => a.includes(item)),
  'Sets.equivalent(list<A>, list<A>): bool': (_: SetsNamespace, a: unknown[], b: unknown[]) =>
    b.every((item) => a.includes(item)) && a.every((item) => b.includes(item)),
  'Sets.intersects(list<A>, list<A>): bool': (_: SetsNamespace, a: unknown[], b: unknown[]) =>
    b.some((item) => a.includes(item)),

  /** Replaces `has()` during the type check, because the library's own macro accepts every field. */
  'hasFieldOf(dyn): bool': () => true,
};

function compareOrdered(a: unknown, b: unknown): number {
  if (a === b) return 0;
  return (a as number) < (b as number) ? -1 : 1;
}

function extremeOf(list: readonly unknown[], sign: 1 | -1, name: string): unknown {
  if (list.length === 0) return throwCelFault(`${name} called on empty list`);
  return list.reduce((best, item) => (compareOrdered(item, best) * sign > 0 ? item : best));
}

function replaceTimes(text: string, from: string, to: string, count: number): string {
  if (count < 0) return text.replaceAll(from, () => to);
  let left = count;
  return text.replaceAll(from, (found) => (left-- > 0 ? to : found));
}

function findAll(text: string, pattern: string, limit: number): string[] {
  const base = fromRe2(pattern);
  const found = [...text.matchAll(new RegExp(base.source, `${base.flags}g`))].map(([whole]) => whole);
  return limit < 0 ? found : found.slice(0, limit);
}

function isGlobalUnicast(ip: CelIp): boolean {
  const isMulticast = ip.isIn('224.0.0.0', 4) || ip.isIn('ff00::', 8);
  const isBroadcast = ip.family === 4 && ip.value === 0xffffffffn;
  const isLocal = ip.isIn('127.0.0.0', 8) || ip.isIn('::1', 128) || ip.isIn('169.254.0.0', 16) || ip.isIn('fe80::', 10);
  return ip.value !== 0n && !isMulticast && !isBroadcast && !isLocal;
}

function isCanonical(text: string): boolean {
  const ip = CelIp.parse(text) ?? throwCelFault(`IP Address "${text}" parse error during conversion from string`);
  return new CelCidr(ip as CelIp, (ip as CelIp).bits).masked().base.text === text;
}

const containsCidr = (outer: CelCidr, inner: CelCidr): boolean =>
  inner.prefix >= outer.prefix && outer.contains(inner.base);

/**
 * A new environment with all functions and no variables. It is built from scratch: operators that are added to a clone
 * also appear in other clones (@marcbachmann/cel-js 8.0).
 */
export function newCelEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: true,
    enableOptionalTypes: true,
  });
  environment
    .registerType('URL', { ctor: CelUrl, fields: {} })
    .registerType('IP', { ctor: CelIp, fields: {} })
    .registerType('CIDR', { ctor: CelCidr, fields: {} })
    .registerType('Quantity', { ctor: CelQuantity, fields: {} })
    .registerType('Sets', { ctor: SetsNamespace, fields: {} })
    .registerType('IpLibrary', { ctor: IpLibrary, fields: {} })
    .registerConstant('sets', 'Sets', new SetsNamespace())
    .registerConstant('ip', 'IpLibrary', new IpLibrary());
  for (const [signature, handler] of Object.entries(functions)) {
    environment.registerFunction(signature, handler as (...values: unknown[]) => unknown);
  }
  return environment;
}

const durations = new Environment().registerVariable('text', 'string').parse('duration(text)');

/** CEL's value of a Go duration. Throws for an invalid text. */
export const toCelDuration = (text: string): unknown => durations({ text });
