import type { NetworkSpec, ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing, ConfiguredHost } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import {
  countIpAddresses,
  formatIp,
  type IpRange,
  ipRangesOverlap,
  ipSubnetOf,
  parseIp,
  parseIpRange,
  parseSubnet,
} from '../../../lib/net/ip.ts';
import { invalidField } from './invalid-field.ts';

/** Whether a cluster needs an address of the pool for its endpoint. */
export const needsVirtualAddress = ({ controlPlane }: ProviderConfigSpec, { endpoint }: Addressing): boolean =>
  controlPlane.endpoint === undefined && endpoint === 'virtual-address';

/** Number of pool addresses of one cluster: one for each node, and one for the endpoint if that comes from the pool. */
export function countAddressesPerCluster(spec: ProviderConfigSpec, addressing: Addressing): number {
  if (addressing.pool === 'none') return 0;
  const workers = spec.workerPools.reduce((sum, pool) => sum + pool.replicas, 0);
  return spec.controlPlane.replicas + workers + (needsVirtualAddress(spec, addressing) ? 1 : 0);
}

const linkLocal = parseSubnet('fe80::/10');

/** Whether a gateway is on the link of the nodes and in no subnet, as routers of IPv6 usually are. */
export const isLinkLocal = (address: IpRange): boolean =>
  linkLocal !== undefined && ipRangesOverlap(address, linkLocal);

/**
 * The subnet of the pool: that of the gateway, or of the first pool address without a gateway in a subnet. Undefined
 * without a valid address.
 */
export function findPoolSubnet({ network }: ProviderConfigSpec): IpRange | undefined {
  const { gateway, addressPool = [], prefix } = network;
  const router = gateway === undefined ? undefined : parseIp(gateway);
  if (gateway !== undefined && !router) return undefined;
  const member = router && !isLinkLocal(router) ? router : parseIpRange(addressPool[0] ?? '');
  return member === undefined || prefix === undefined ? undefined : ipSubnetOf(member, prefix);
}

/** The family of the addresses of nodes: that of the pool, and IPv4 where they have addresses of their provider. */
export function nodeFamilyOf({ network }: Pick<ProviderConfigSpec, 'network'>): IpRange['family'] {
  const { addressPool = [], gateway = '' } = network;
  return [...addressPool, gateway].flatMap((text) => parseIpRange(text) ?? [])[0]?.family ?? 4;
}

/**
 * The pool must be in one subnet, be large enough for one cluster and contain no address of another host.
 * ProviderConfigs may share addresses: each address is claimed once.
 */
export function checkAddresses(
  spec: ProviderConfigSpec,
  addressing: Addressing,
  others: readonly ConfiguredHost[],
): Diagnostic[] {
  const { network } = spec;
  const given = [checkMissingFields, checkSurplusFields, checkAssignment].flatMap((find) => find(network, addressing));
  if (given.length > 0 || addressing.pool === 'none') return given;
  const family = checkFamily(network, addressing);
  if (family.length > 0) return family;
  const subnet = findPoolSubnet(spec);
  const gateway = checkGateway(network.gateway, subnet);
  if (gateway.length > 0) return gateway;
  const findings = (network.addressPool ?? []).flatMap((text, i) =>
    checkRange(`network.addressPool[${i}]`, text, { ...network, subnet }, others),
  );
  return findings.length > 0 ? findings : checkPoolSize(spec, addressing);
}

const examples = {
  addressPool: 'Use addresses or ranges like 192.168.10.20-192.168.10.60.',
  prefix: 'Use the length in bits, like 24.',
  gateway: 'Use an address like 192.168.10.1.',
} as const;
type NetworkField = keyof typeof examples;

/** Whether nodes get their network configuration from a DHCP server. */
const usesDhcp = ({ addressAssignment }: NetworkSpec): boolean => addressAssignment === 'DHCP';

/** The CRD requires the fields that every platform needs. The others depend on the platform. */
function checkMissingFields(network: NetworkSpec, { pool }: Addressing): Diagnostic[] {
  const needed: Readonly<Record<Addressing['pool'], readonly NetworkField[]>> = {
    main: usesDhcp(network) ? ['addressPool', 'prefix'] : ['addressPool', 'prefix', 'gateway'],
    private: ['addressPool', 'prefix'],
    none: [],
  };
  const why =
    pool === 'main'
      ? 'It is required for the addresses of nodes.'
      : 'It is required for the private addresses of nodes.';
  const missing = needed[pool]
    .filter((field) => network[field] === undefined)
    .map((field) => invalidField(`network.${field}`, `Not set. ${why} ${examples[field]}`));
  if (usesDhcp(network) || network.nameServers !== undefined) return missing;
  return [...missing, invalidField('network.nameServers', 'Not set. Use addresses like 192.168.10.1.')];
}

/** A field without effect is rejected. */
function checkSurplusFields(network: NetworkSpec, { pool }: Addressing): Diagnostic[] {
  const surplus: Readonly<Record<Addressing['pool'], readonly NetworkField[]>> = {
    main: usesDhcp(network) ? ['gateway'] : [],
    private: ['gateway'],
    none: ['addressPool', 'prefix', 'gateway'],
  };
  const why: Readonly<Record<Addressing['pool'], string>> = {
    main: 'Not allowed with addressAssignment DHCP: the DHCP server announces the gateway.',
    private: 'Not allowed: the private network has no gateway, and the nodes have their own.',
    none: 'Not allowed: nodes of this platform have their own addresses.',
  };
  return surplus[pool]
    .filter((field) => network[field] !== undefined)
    .map((field) => invalidField(`network.${field}`, `${why[pool]} Omit it.`));
}

function checkAssignment(network: NetworkSpec, { pool }: Addressing): Diagnostic[] {
  if (!usesDhcp(network) || pool === 'main') return [];
  const message = 'DHCP is not supported: nodes of this platform have their own addresses. Omit it.';
  return [invalidField('network.addressAssignment', message)];
}

/** Longest prefix of a subnet with addresses for nodes. */
const longestPrefix = { 4: 30, 6: 126 } as const;

/** IPv6 addresses have their limits: other prefixes, no DHCP, and a network of their own. */
function checkFamily(network: NetworkSpec, { pool }: Addressing): Diagnostic[] {
  const { prefix = 0 } = network;
  const family = nodeFamilyOf({ network });
  if (family === 6 && pool === 'private')
    return [
      invalidField('network.addressPool[0]', 'The private network needs IPv4 addresses. Add IPv6 by network.ipv6.'),
    ];
  if (family === 6 && usesDhcp(network))
    return [invalidField('network.addressAssignment', 'DHCP needs IPv4 addresses in network.addressPool. Use Static.')];
  if (prefix <= longestPrefix[family]) return [];
  return [
    invalidField('network.prefix', `${prefix} is too long for IPv${family}: it is at most ${longestPrefix[family]}.`),
  ];
}

function checkGateway(text: string | undefined, subnet: IpRange | undefined): Diagnostic[] {
  if (text === undefined) return [];
  const address = parseIp(text);
  if (address === undefined)
    return [invalidField('network.gateway', `${text} is not an IP address. Use an address like 192.168.10.1.`)];
  if (!subnet || !isEdgeOf(subnet, address)) return [];
  const message = `${text} is the first or last address of its subnet, ${formatRange(subnet)}, and cannot be used. Correct it or network.prefix.`;
  return [invalidField('network.gateway', message)];
}

/** Whether no host can have an address: IPv6 has no broadcast address, and the first one is that of all routers. */
const isEdgeOf = (subnet: IpRange, { first }: IpRange): boolean =>
  first === subnet.first || (subnet.family === 4 && first === subnet.last);

const formatRange = (range: IpRange): string => `${formatIp(range)} to ${formatIp({ ...range, first: range.last })}`;

interface RangeContext {
  readonly gateway?: string | undefined;
  /** Undefined if the first entry of the pool is not valid. */
  readonly subnet: IpRange | undefined;
}

function checkRange(
  field: string,
  text: string,
  { gateway, subnet }: RangeContext,
  others: readonly ConfiguredHost[],
): Diagnostic[] {
  const range = parseIpRange(text);
  if (!range) {
    const message = `${text} is neither an IP address nor a range like 192.168.10.20-192.168.10.60. Correct it.`;
    return [invalidField(field, message)];
  }
  if (!subnet) return [];
  if (!isInside(range, subnet)) {
    const whose = gateway === undefined ? 'the first address' : 'network.gateway';
    const message = `${text} is outside the usable addresses of the subnet of ${whose} and network.prefix, ${formatRange(subnet)}. Correct one of them.`;
    return [invalidField(field, message)];
  }
  const isIn = (host: string): boolean => {
    const address = parseIp(host);
    return address !== undefined && ipRangesOverlap(range, address);
  };
  return others
    .filter(({ host }) => isIn(host))
    .map(({ field: whose, host }) => invalidField(field, `${text} contains ${host}, which is ${whose}. Exclude it.`));
}

const isInside = (range: IpRange, subnet: IpRange): boolean =>
  range.family === subnet.family &&
  range.first > subnet.first &&
  (subnet.family === 4 ? range.last < subnet.last : range.last <= subnet.last);

function checkPoolSize(spec: ProviderConfigSpec, addressing: Addressing): Diagnostic[] {
  const needed = countAddressesPerCluster(spec, addressing);
  const ranges = (spec.network.addressPool ?? []).map(parseIpRange).filter((range) => range !== undefined);
  const available = countIpAddresses(ranges);
  if (available >= needed) return [];
  const held = available === 1 ? '1 address' : `${available} addresses`;
  const virtual = needsVirtualAddress(spec, addressing);
  const why = virtual ? 'one for each node, and one for the endpoint' : 'one for each node';
  return [
    invalidField('network.addressPool', `It has ${held}, and one cluster needs ${needed} (${why}). Add addresses.`),
  ];
}
