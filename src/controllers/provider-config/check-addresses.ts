import type { ProviderConfigSpec } from '../../api/provider-config.ts';
import type { Finding, NamedHost } from '../../engine/platform.ts';
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

/** How many addresses one cluster takes: its nodes, and one for the endpoint unless that is given. */
export function addressesPerCluster(spec: ProviderConfigSpec): number {
  const workers = spec.workerPools.reduce((sum, pool) => sum + pool.replicas, 0);
  return spec.controlPlane.replicas + workers + (spec.controlPlane.endpoint ? 0 : 1);
}

/** The subnet of the nodes; undefined when the gateway is no address in it. */
export function nodeSubnet({ network }: ProviderConfigSpec): Ipv4Range | undefined {
  const gateway = parseIpv4(network.gateway);
  return gateway === undefined ? undefined : subnetOf(gateway, network.prefix);
}

/**
 * The pool lies in the nodes' subnet, is large enough for one cluster, and holds the address of nobody else. Other
 * ProviderConfigs may have the same addresses in theirs: each is given away once.
 */
export function checkAddresses(spec: ProviderConfigSpec, others: readonly NamedHost[]): Finding[] {
  const { network } = spec;
  const gateway = parseIpv4(network.gateway);
  const subnet = nodeSubnet(spec);
  if (gateway === undefined || !subnet) {
    return [invalid('network.gateway', `${network.gateway} is not an IPv4 address. Write it like 192.168.10.1.`)];
  }
  if (gateway === subnet.first || gateway === subnet.last) {
    const message = `${network.gateway} is the first or last address of its subnet, ${shown(subnet)}, and cannot be used. Correct it or network.prefix.`;
    return [invalid('network.gateway', message)];
  }
  const findings = network.addressPool.flatMap((text, i) =>
    checkRange(`network.addressPool[${i}]`, text, subnet, others),
  );
  return findings.length > 0 ? findings : checkSize(spec);
}

const shown = ({ first, last }: Ipv4Range): string => `${formatIpv4(first)} to ${formatIpv4(last)}`;

function checkRange(field: string, text: string, subnet: Ipv4Range, others: readonly NamedHost[]): Finding[] {
  const range = parseIpv4Range(text);
  if (!range) {
    return [
      invalid(field, `${text} is neither an IPv4 address nor a range like 192.168.10.20-192.168.10.60. Correct it.`),
    ];
  }
  if (range.first <= subnet.first || range.last >= subnet.last) {
    const message = `${text} is not inside the subnet of network.gateway and network.prefix, ${shown(subnet)} (its first and last address cannot be used). Correct one of them.`;
    return [invalid(field, message)];
  }
  return others
    .filter(({ host }) => contains(range, parseIpv4(host) ?? -1))
    .map(({ field: whose, host }) => invalid(field, `${text} contains ${host}, which is ${whose}. Leave it out.`));
}

function checkSize(spec: ProviderConfigSpec): Finding[] {
  const needed = addressesPerCluster(spec);
  const ranges = spec.network.addressPool.map(parseIpv4Range).filter((range) => range !== undefined);
  const available = countAddresses(ranges);
  if (available >= needed) return [];
  const held = available === 1 ? '1 address' : `${available} addresses`;
  const why = spec.controlPlane.endpoint ? 'one for each node' : 'one for each node, and one for the endpoint';
  return [invalid('network.addressPool', `It holds ${held} and one cluster needs ${needed} (${why}). Add some.`)];
}
