import type { NetworkSpec, ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { Addressing, ConfiguredHost } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import {
  countIpv4Addresses,
  formatIpv4,
  type Ipv4Range,
  ipv4RangeContains,
  ipv4SubnetOf,
  parseIpv4,
  parseIpv4Range,
} from '../../../lib/net/ipv4.ts';
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

/**
 * The subnet of the pool: that of the gateway, or of the first pool address without a gateway. Undefined without a
 * valid address.
 */
export function findPoolSubnet({ network }: ProviderConfigSpec): Ipv4Range | undefined {
  const { gateway, addressPool = [], prefix } = network;
  const member = gateway === undefined ? parseIpv4Range(addressPool[0] ?? '')?.first : parseIpv4(gateway);
  return member === undefined || prefix === undefined ? undefined : ipv4SubnetOf(member, prefix);
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

function checkGateway(gateway: string | undefined, subnet: Ipv4Range | undefined): Diagnostic[] {
  if (gateway === undefined) return [];
  const address = parseIpv4(gateway);
  if (address === undefined || !subnet)
    return [invalidField('network.gateway', `${gateway} is not an IPv4 address. Use an address like 192.168.10.1.`)];
  if (address !== subnet.first && address !== subnet.last) return [];
  const message = `${gateway} is the first or last address of its subnet, ${formatRange(subnet)}, and cannot be used. Correct it or network.prefix.`;
  return [invalidField('network.gateway', message)];
}

const formatRange = ({ first, last }: Ipv4Range): string => `${formatIpv4(first)} to ${formatIpv4(last)}`;

interface RangeContext {
  readonly gateway?: string | undefined;
  /** Undefined if the first entry of the pool is not valid. */
  readonly subnet: Ipv4Range | undefined;
}

function checkRange(
  field: string,
  text: string,
  { gateway, subnet }: RangeContext,
  others: readonly ConfiguredHost[],
): Diagnostic[] {
  const range = parseIpv4Range(text);
  if (!range || !subnet) {
    if (range) return [];
    return [
      invalidField(
        field,
        `${text} is neither an IPv4 address nor a range like 192.168.10.20-192.168.10.60. Correct it.`,
      ),
    ];
  }
  if (range.first <= subnet.first || range.last >= subnet.last) {
    const whose = gateway === undefined ? 'the first address' : 'network.gateway';
    const message = `${text} is outside the usable addresses of the subnet of ${whose} and network.prefix, ${formatRange(subnet)}. Correct one of them.`;
    return [invalidField(field, message)];
  }
  return others
    .filter(({ host }) => ipv4RangeContains(range, parseIpv4(host) ?? -1))
    .map(({ field: whose, host }) => invalidField(field, `${text} contains ${host}, which is ${whose}. Exclude it.`));
}

function checkPoolSize(spec: ProviderConfigSpec, addressing: Addressing): Diagnostic[] {
  const needed = countAddressesPerCluster(spec, addressing);
  const ranges = (spec.network.addressPool ?? []).map(parseIpv4Range).filter((range) => range !== undefined);
  const available = countIpv4Addresses(ranges);
  if (available >= needed) return [];
  const held = available === 1 ? '1 address' : `${available} addresses`;
  const virtual = needsVirtualAddress(spec, addressing);
  const why = virtual ? 'one for each node, and one for the endpoint' : 'one for each node';
  return [
    invalidField('network.addressPool', `It has ${held}, and one cluster needs ${needed} (${why}). Add addresses.`),
  ];
}
