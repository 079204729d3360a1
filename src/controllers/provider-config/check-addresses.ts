import type { NetworkSpec, ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Addressing, Finding, NamedHost } from '../../engine/platform.ts';
import {
  contains,
  countAddresses,
  formatIpv4,
  type Ipv4Range,
  parseIpv4,
  parseIpv4Range,
  subnetOf,
} from '../../lib/ipv4.ts';
import { invalid } from './finding.ts';

/** Whether a cluster needs an address of the pool for its endpoint. */
export const takesVirtualAddress = ({ controlPlane }: ProviderConfigSpec, { endpoint }: Addressing): boolean =>
  controlPlane.endpoint === undefined && endpoint === 'virtual-address';

/** How many addresses of the pool one cluster takes: one for each node, and one for the endpoint unless that is elsewhere. */
export function addressesPerCluster(spec: ProviderConfigSpec, addressing: Addressing): number {
  if (addressing.pool === 'none') return 0;
  const workers = spec.workerPools.reduce((sum, pool) => sum + pool.replicas, 0);
  return spec.controlPlane.replicas + workers + (takesVirtualAddress(spec, addressing) ? 1 : 0);
}

/**
 * The subnet of the pool: that of the gateway, or of its first address where there is none. Undefined when that is no
 * address, or there is no pool.
 */
export function poolSubnet({ network }: ProviderConfigSpec): Ipv4Range | undefined {
  const { gateway, addressPool = [], prefix } = network;
  const member = gateway === undefined ? parseIpv4Range(addressPool[0] ?? '')?.first : parseIpv4(gateway);
  return member === undefined || prefix === undefined ? undefined : subnetOf(member, prefix);
}

/**
 * The pool lies in one subnet, is large enough for one cluster, and holds the address of nobody else. Other
 * ProviderConfigs may have the same addresses in theirs: each is given away once.
 */
export function checkAddresses(
  spec: ProviderConfigSpec,
  addressing: Addressing,
  others: readonly NamedHost[],
): Finding[] {
  const { network } = spec;
  const given = [checkMissing, checkSurplus, checkAssignment].flatMap((find) => find(network, addressing));
  if (given.length > 0 || addressing.pool === 'none') return given;
  const subnet = poolSubnet(spec);
  const gateway = checkGateway(network.gateway, subnet);
  if (gateway.length > 0) return gateway;
  const findings = (network.addressPool ?? []).flatMap((text, i) =>
    checkRange(`network.addressPool[${i}]`, text, { ...network, subnet }, others),
  );
  return findings.length > 0 ? findings : checkSize(spec, addressing);
}

const examples = {
  addressPool: 'Write addresses or ranges like 192.168.10.20-192.168.10.60.',
  prefix: 'Write the length in bits, like 24.',
  gateway: 'Write an address like 192.168.10.1.',
} as const;
type Field = keyof typeof examples;

/** Whether a DHCP server tells nodes of the network what they need there. */
const isTold = ({ addressAssignment }: NetworkSpec): boolean => addressAssignment === 'DHCP';

/** The API server demands them where they are always needed. */
function checkMissing(network: NetworkSpec, { pool }: Addressing): Finding[] {
  const needed: Readonly<Record<Addressing['pool'], readonly Field[]>> = {
    main: isTold(network) ? ['addressPool', 'prefix'] : ['addressPool', 'prefix', 'gateway'],
    private: ['addressPool', 'prefix'],
    none: [],
  };
  const why = pool === 'main' ? 'Nodes get their addresses by it.' : 'Nodes get their private addresses by it.';
  const missing = needed[pool]
    .filter((field) => network[field] === undefined)
    .map((field) => invalid(`network.${field}`, `It is missing. ${why} ${examples[field]}`));
  if (isTold(network) || network.nameServers !== undefined) return missing;
  return [...missing, invalid('network.nameServers', 'It is missing. Write addresses like 192.168.10.1.')];
}

/** What nobody would look at is not to be written down. */
function checkSurplus(network: NetworkSpec, { pool }: Addressing): Finding[] {
  const surplus: Readonly<Record<Addressing['pool'], readonly Field[]>> = {
    main: isTold(network) ? ['gateway'] : [],
    private: ['gateway'],
    none: ['addressPool', 'prefix', 'gateway'],
  };
  const why: Readonly<Record<Addressing['pool'], string>> = {
    main: 'With addressAssignment DHCP it is the DHCP server that tells nodes theirs.',
    private: 'A private network leads nowhere else, and the nodes have a gateway of their own.',
    none: 'The nodes have addresses of their own.',
  };
  return surplus[pool]
    .filter((field) => network[field] !== undefined)
    .map((field) => invalid(`network.${field}`, `${why[pool]} Leave it out.`));
}

function checkAssignment(network: NetworkSpec, { pool }: Addressing): Finding[] {
  if (!isTold(network) || pool === 'main') return [];
  const message =
    'DHCP is for nodes whose main address is one of the pool, and these have addresses of their own. Leave it out.';
  return [invalid('network.addressAssignment', message)];
}

function checkGateway(gateway: string | undefined, subnet: Ipv4Range | undefined): Finding[] {
  if (gateway === undefined) return [];
  const address = parseIpv4(gateway);
  if (address === undefined || !subnet)
    return [invalid('network.gateway', `${gateway} is not an IPv4 address. Write it like 192.168.10.1.`)];
  if (address !== subnet.first && address !== subnet.last) return [];
  const message = `${gateway} is the first or last address of its subnet, ${shown(subnet)}, and cannot be used. Correct it or network.prefix.`;
  return [invalid('network.gateway', message)];
}

const shown = ({ first, last }: Ipv4Range): string => `${formatIpv4(first)} to ${formatIpv4(last)}`;

interface Place {
  readonly gateway?: string | undefined;
  /** Undefined when the first entry of the pool says none. */
  readonly subnet: Ipv4Range | undefined;
}

function checkRange(field: string, text: string, { gateway, subnet }: Place, others: readonly NamedHost[]): Finding[] {
  const range = parseIpv4Range(text);
  if (!range || !subnet) {
    if (range) return [];
    return [
      invalid(field, `${text} is neither an IPv4 address nor a range like 192.168.10.20-192.168.10.60. Correct it.`),
    ];
  }
  if (range.first <= subnet.first || range.last >= subnet.last) {
    const whose = gateway === undefined ? 'the first address' : 'network.gateway';
    const message = `${text} is not inside the subnet of ${whose} and network.prefix, ${shown(subnet)} (its first and last address cannot be used). Correct one of them.`;
    return [invalid(field, message)];
  }
  return others
    .filter(({ host }) => contains(range, parseIpv4(host) ?? -1))
    .map(({ field: whose, host }) => invalid(field, `${text} contains ${host}, which is ${whose}. Leave it out.`));
}

function checkSize(spec: ProviderConfigSpec, addressing: Addressing): Finding[] {
  const needed = addressesPerCluster(spec, addressing);
  const ranges = (spec.network.addressPool ?? []).map(parseIpv4Range).filter((range) => range !== undefined);
  const available = countAddresses(ranges);
  if (available >= needed) return [];
  const held = available === 1 ? '1 address' : `${available} addresses`;
  const virtual = takesVirtualAddress(spec, addressing);
  const why = virtual ? 'one for each node, and one for the endpoint' : 'one for each node';
  return [invalid('network.addressPool', `It holds ${held} and one cluster needs ${needed} (${why}). Add some.`)];
}
