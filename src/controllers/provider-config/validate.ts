import type { ProviderConfigSpec } from '../../api/provider-config.ts';
import type { Finding } from '../../engine/platform.ts';
import {
  contains,
  countAddresses,
  formatIpv4,
  type Ipv4Range,
  overlaps,
  parseIpv4,
  parseIpv4Range,
  subnetOf,
} from '../../lib/ipv4.ts';
import { checkVersions } from '../../talos/versions.ts';

const invalid = (field: string, message: string): Finding => ({ field, reason: 'InvalidConfig', message });

/**
 * What is wrong with a spec beyond its schema: everything that can be known without asking anybody. Empty when it can
 * be served. `sizes` are the size names that the platform section offers.
 */
export function validateSpec(spec: ProviderConfigSpec, sizes: readonly string[]): Finding[] {
  return [
    ...checkReplicas(spec),
    ...checkVersions(
      spec.talos.version,
      spec.kubernetes.versions.map((offered) => offered.version),
    ),
    ...checkOffer(spec),
    ...checkSizes(spec, sizes),
    ...checkNetwork(spec),
  ];
}

/** The API server refuses this too; an object that came in before that rule is caught here. */
function checkReplicas({ controlPlane }: ProviderConfigSpec): Finding[] {
  if ([1, 3, 5].includes(controlPlane.replicas)) return [];
  return [
    invalid(
      'controlPlane.replicas',
      `${controlPlane.replicas} control planes are not possible: etcd needs an odd number to survive the loss of one. Use 1, 3 or 5.`,
    ),
  ];
}

function checkOffer({ kubernetes }: ProviderConfigSpec): Finding[] {
  if (kubernetes.versions.some((offered) => !offered.deprecated)) return [];
  return [invalid('kubernetes.versions', 'Every version is deprecated. Offer at least one that new clusters can get.')];
}

function checkSizes(spec: ProviderConfigSpec, sizes: readonly string[]): Finding[] {
  const used = [
    { field: 'controlPlane.size', size: spec.controlPlane.size },
    ...spec.workerPools.map((pool, i) => ({ field: `workerPools[${i}].size`, size: pool.size })),
  ];
  return used
    .filter(({ size }) => !sizes.includes(size))
    .map(({ field, size }) =>
      invalid(
        field,
        `There is no size ${size}. Name one of the platform section: ${sizes.join(', ') || 'none is defined yet'}.`,
      ),
    );
}

/** How many addresses one cluster takes: its nodes, and one for the endpoint unless that is given. */
export function addressesPerCluster(spec: ProviderConfigSpec): number {
  const workers = spec.workerPools.reduce((sum, pool) => sum + pool.replicas, 0);
  return spec.controlPlane.replicas + workers + (spec.controlPlane.endpoint ? 0 : 1);
}

function checkNetwork(spec: ProviderConfigSpec): Finding[] {
  const { network } = spec;
  const gateway = parseIpv4(network.gateway);
  if (gateway === undefined) return [invalid('network.gateway', `${network.gateway} is not an IPv4 address.`)];
  const subnet = subnetOf(gateway, network.prefix);
  const findings = [...checkClusterRanges(spec, subnet)];
  const ranges: Ipv4Range[] = [];
  network.addressPool.forEach((text, i) => {
    const range = parseIpv4Range(text);
    if (range) ranges.push(range);
    findings.push(...checkRange(`network.addressPool[${i}]`, text, range, subnet, gateway));
  });
  const needed = addressesPerCluster(spec);
  const available = countAddresses(ranges);
  if (findings.length === 0 && available < needed) {
    findings.push(
      invalid(
        'network.addressPool',
        `It holds ${available === 1 ? '1 address' : `${available} addresses`} and one cluster needs ${needed} (a node each, and one for the endpoint). Add some.`,
      ),
    );
  }
  return findings;
}

function checkRange(
  field: string,
  text: string,
  range: Ipv4Range | undefined,
  subnet: Ipv4Range,
  gateway: number,
): Finding[] {
  if (!range)
    return [invalid(field, `${text} is neither an IPv4 address nor a range like 192.168.10.20-192.168.10.60.`)];
  const shown = `${formatIpv4(subnet.first)} to ${formatIpv4(subnet.last)}`;
  if (range.first <= subnet.first || range.last >= subnet.last) {
    return [
      invalid(
        field,
        `${text} is not inside the subnet of network.gateway and network.prefix, ${shown} (its first and last address cannot be used).`,
      ),
    ];
  }
  if (contains(range, gateway))
    return [invalid(field, `${text} contains the gateway ${formatIpv4(gateway)}. Leave it out.`)];
  return [];
}

/** Pod and service ranges that overlap each other or the nodes' subnet would cut nodes off. */
function checkClusterRanges({ network }: ProviderConfigSpec, nodes: Ipv4Range): Finding[] {
  const findings: Finding[] = [];
  const seen: { field: string; range: Ipv4Range }[] = [{ field: "the nodes' subnet", range: nodes }];
  const lists = { podSubnets: network.podSubnets, serviceSubnets: network.serviceSubnets };
  for (const [name, subnets] of Object.entries(lists)) {
    subnets.forEach((text, i) => {
      const field = `network.${name}[${i}]`;
      const range = parseCidr(text);
      if (range === 'not IPv4') return;
      if (!range) {
        findings.push(invalid(field, `${text} is not a range like 10.244.0.0/16.`));
        return;
      }
      const clash = seen.find((other) => overlaps(other.range, range));
      if (clash) findings.push(invalid(field, `${text} overlaps ${clash.field}. Choose another range.`));
      seen.push({ field, range });
    });
  }
  return findings;
}

function parseCidr(text: string): Ipv4Range | 'not IPv4' | undefined {
  if (text.includes(':')) return 'not IPv4';
  const [address = '', bits = ''] = text.split('/');
  const value = parseIpv4(address);
  const prefix = Number(bits);
  if (value === undefined || !Number.isInteger(prefix) || prefix < 1 || prefix > 32) return undefined;
  return subnetOf(value, prefix);
}
