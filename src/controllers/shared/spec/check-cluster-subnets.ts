import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import type { ConfiguredHost } from '../../../engine/addressing.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { type IpRange, type IpSubnet, ipRangesOverlap, parseIp, parseSubnet } from '../../../lib/net/ip.ts';
import { isAtLeastMinor } from '../../../talos/versions.ts';
import { findPoolSubnet, nodeFamilyOf } from './check-addresses.ts';
import { invalidField } from './invalid-field.ts';

interface NamedRange {
  readonly field: string;
  readonly range: IpRange;
}

interface NamedSubnet extends NamedRange {
  readonly text: string;
  readonly range: IpSubnet;
}

const podSubnetsField = 'network.podSubnets';
const serviceSubnetsField = 'network.serviceSubnets';

/** The Pod and Service ranges must be valid for Kubernetes and must not overlap hosts that nodes need. */
export function checkClusterSubnets(spec: ProviderConfigSpec, others: readonly ConfiguredHost[]): Diagnostic[] {
  const lists = { [podSubnetsField]: spec.network.podSubnets, [serviceSubnetsField]: spec.network.serviceSubnets };
  const written = Object.entries(lists).flatMap(([name, texts]) =>
    texts.map((text, i) => ({ field: `${name}[${i}]`, text, range: parseSubnet(text) })),
  );
  const malformed = written
    .filter(({ range }) => !range?.exact)
    .map(({ field, text, range }) =>
      invalidField(
        field,
        range
          ? `${text} does not begin with the first address of its range. Use a range like 10.244.0.0/16.`
          : `${text} is not a CIDR range. Use a range like 10.244.0.0/16.`,
      ),
    );
  if (malformed.length > 0) return malformed;
  const ranges = written.filter((one): one is NamedSubnet => one.range !== undefined);
  const families = checkAddressFamilies(spec, ranges);
  if (families.length > 0) return families;
  const overlaps = checkOverlaps(spec, ranges);
  if (overlaps.length > 0) return overlaps;
  return [...checkExternalAddresses(ranges, others), ...checkSubnetSizes(spec, ranges)];
}

/**
 * The kube-apiserver requires it: the first range has the family of its own address, and two ranges are of two families.
 * Nodes with IPv6 addresses have no others.
 */
function checkAddressFamilies(spec: ProviderConfigSpec, ranges: readonly NamedSubnet[]): Diagnostic[] {
  const nodes = nodeFamilyOf(spec);
  return ranges.flatMap(({ field, text, range: { family } }) => {
    const isFirst = field.endsWith('[0]');
    if (isFirst ? family === nodes : family === 6 && nodes === 4) return [];
    const message = isFirst
      ? `${text} is IPv${family}, but nodes have IPv${nodes} addresses. ${firstRemedy[nodes]}`
      : nodes === 4
        ? `${text} is IPv4, but the second range must be IPv6. Omit it, or use a range like fd00::/108.`
        : `Nodes have no IPv4 addresses, so there is one range only. Omit ${text}.`;
    return [invalidField(field, message)];
  });
}

const firstRemedy = {
  4: 'List an IPv4 range first.',
  6: 'Use a range like fd00:1::/56 for Pods, fd00:2::/112 for Services.',
};

function checkOverlaps(spec: ProviderConfigSpec, ranges: readonly NamedSubnet[]): Diagnostic[] {
  const nodes = findPoolSubnet(spec);
  const nodesIpv6 = parseSubnet(spec.network.ipv6?.subnet ?? '');
  const seen: NamedRange[] = [
    ...(nodes ? [{ field: "the nodes' subnet", range: nodes }] : []),
    ...(nodesIpv6 ? [{ field: 'network.ipv6.subnet', range: nodesIpv6 }] : []),
  ];
  const findings: Diagnostic[] = [];
  for (const one of ranges) {
    const clash = seen.find((other) => ipRangesOverlap(other.range, one.range));
    if (clash) findings.push(invalidField(one.field, `${one.text} overlaps ${clash.field}. Choose another range.`));
    seen.push(one);
  }
  return findings;
}

/** External hosts that nodes contact must not be in the Pod and Service ranges. */
function checkExternalAddresses(ranges: readonly NamedSubnet[], others: readonly ConfiguredHost[]): Diagnostic[] {
  return ranges.flatMap(({ field, text, range }) =>
    others.flatMap(({ field: whose, host }) => {
      const address = parseIp(host);
      if (!address || !ipRangesOverlap(range, address)) return [];
      const message = `${text} contains ${host}, which is ${whose} and would be unreachable from nodes. Choose another range.`;
      return [invalidField(field, message)];
    }),
  );
}

/** Longest Service prefixes: the range must contain the tenth address, which is the cluster DNS. */
const maxServicePrefixLength = { 4: 28, 6: 124 } as const;
/** Before 1.34, Kubernetes keeps a bitmap of the range (`validateMaxCIDRRange` of kube-apiserver). */
const minServicePrefixLength = { 4: 12, 6: 108 } as const;
/** Each node gets a Pod range of this prefix length (defaults of kube-controller-manager). */
const nodePodPrefixLength = { 4: 24, 6: 64 } as const;
/**
 * Maximum difference between the prefix lengths of the IPv6 range and of a node (`clusterSubnetMaxDiff` of
 * kube-controller-manager).
 */
const maxNodeBits = 16;

function checkSubnetSizes(spec: ProviderConfigSpec, ranges: readonly NamedSubnet[]): Diagnostic[] {
  const old = spec.kubernetes.versions.some(({ version }) => !isAtLeastMinor(version, '1.34'));
  // Patches may install another CNI or change the prefix length of nodes.
  const patched = spec.talos.patches.length + spec.controlPlane.patches.length > 0;
  return ranges.flatMap((one) => {
    if (one.field.startsWith(serviceSubnetsField)) return checkServiceSubnet(one, old);
    return patched ? [] : checkPodSubnet(one, nodesPerCluster(spec));
  });
}

const nodesPerCluster = ({ controlPlane, workerPools }: ProviderConfigSpec): number =>
  controlPlane.replicas + workerPools.reduce((sum, pool) => sum + pool.replicas, 0);

function checkServiceSubnet({ field, text, range: { family, prefix } }: NamedSubnet, old: boolean): Diagnostic[] {
  if (prefix > maxServicePrefixLength[family])
    return [
      invalidField(
        field,
        `${text} is too small for Services. Use a prefix length up to /${maxServicePrefixLength[family]}.`,
      ),
    ];
  if (!old || prefix >= minServicePrefixLength[family]) return [];
  const message = `${text} is too large: Kubernetes before 1.34 allows at most /${minServicePrefixLength[family]}. Use a longer prefix length.`;
  return [invalidField(field, message)];
}

function checkPodSubnet({ field, text, range: { family, prefix } }: NamedSubnet, nodes: number): Diagnostic[] {
  const bits = nodePodPrefixLength[family] - prefix;
  if (bits < 0 || 2 ** bits < nodes) {
    const needed = nodePodPrefixLength[family] - Math.ceil(Math.log2(nodes));
    const message = `${text} is too small: each of the ${nodes} nodes of a cluster gets a /${nodePodPrefixLength[family]} of it. Use /${needed} or shorter.`;
    return [invalidField(field, message)];
  }
  if (family === 4 || bits <= maxNodeBits) return [];
  const message = `${text} is too large: Kubernetes assigns at most 2^${maxNodeBits} ranges of /${nodePodPrefixLength[family]}. Use /${nodePodPrefixLength[family] - maxNodeBits} or longer.`;
  return [invalidField(field, message)];
}
