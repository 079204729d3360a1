import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { Finding, NamedHost } from '../../engine/platform.ts';
import { type IpRange, parseIp, parseSubnet, rangesOverlap, type Subnet } from '../../lib/ip.ts';
import { atLeast } from '../../talos/versions.ts';
import { poolSubnet } from './check-addresses.ts';
import { invalid } from './finding.ts';

interface Named {
  readonly field: string;
  readonly range: IpRange;
}

interface Range extends Named {
  readonly text: string;
  readonly range: Subnet;
}

const pods = 'network.podSubnets';
const services = 'network.serviceSubnets';

/** The ranges of Pods and Services: subnets that Kubernetes takes, and that cut nodes off from nobody. */
export function checkClusterRanges(spec: ProviderConfigSpec, others: readonly NamedHost[]): Finding[] {
  const lists = { [pods]: spec.network.podSubnets, [services]: spec.network.serviceSubnets };
  const written = Object.entries(lists).flatMap(([name, texts]) =>
    texts.map((text, i) => ({ field: `${name}[${i}]`, text, range: parseSubnet(text) })),
  );
  const malformed = written
    .filter(({ range }) => !range?.exact)
    .map(({ field, text, range }) =>
      invalid(
        field,
        range
          ? `${text} does not begin with the first address of its range. Write it like 10.244.0.0/16.`
          : `${text} is not a range. Write it like 10.244.0.0/16.`,
      ),
    );
  if (malformed.length > 0) return malformed;
  const ranges = written.filter((one): one is Range => one.range !== undefined);
  const families = checkFamilies(ranges);
  if (families.length > 0) return families;
  const overlaps = checkOverlaps(spec, ranges);
  if (overlaps.length > 0) return overlaps;
  return [...checkOthers(ranges, others), ...checkSizes(spec, ranges)];
}

/** The kube-apiserver demands it: its own address is IPv4, and two ranges are for two families. */
function checkFamilies(ranges: readonly Range[]): Finding[] {
  return ranges
    .filter(({ field, range }) => range.family !== (field.endsWith('[0]') ? 4 : 6))
    .map(({ field, text }) =>
      field.endsWith('[0]')
        ? invalid(field, `${text} is IPv6, and nodes have IPv4 addresses. Put an IPv4 range first.`)
        : invalid(
            field,
            `${text} is IPv4 too: a second range has to be IPv6. Leave it out, or write one like fd00::/108.`,
          ),
    );
}

function checkOverlaps(spec: ProviderConfigSpec, ranges: readonly Range[]): Finding[] {
  const nodes = poolSubnet(spec);
  const seen: Named[] = nodes
    ? [{ field: "the nodes' subnet", range: { family: 4, first: BigInt(nodes.first), last: BigInt(nodes.last) } }]
    : [];
  const findings: Finding[] = [];
  for (const one of ranges) {
    const clash = seen.find((other) => rangesOverlap(other.range, one.range));
    if (clash) findings.push(invalid(one.field, `${one.text} overlaps ${clash.field}. Choose another range.`));
    seen.push(one);
  }
  return findings;
}

/** What nodes call must not lie where Pods and Services are. */
function checkOthers(ranges: readonly Range[], others: readonly NamedHost[]): Finding[] {
  return ranges.flatMap(({ field, text, range }) =>
    others.flatMap(({ field: whose, host }) => {
      const address = parseIp(host);
      if (!address || !rangesOverlap(range, address)) return [];
      const message = `${text} contains ${host}, which is ${whose}: nodes could not reach it any more. Choose another range.`;
      return [invalid(field, message)];
    }),
  );
}

/** Prefix lengths that Services may have: room for the tenth address, which is that of the cluster's DNS. */
const longestService = { 4: 28, 6: 124 } as const;
/** Kubernetes before 1.34 keeps a bitmap of them (`validateMaxCIDRRange` of kube-apiserver). */
const shortestService = { 4: 12, 6: 108 } as const;
/** Each node gets a range of this prefix length for its Pods (defaults of kube-controller-manager). */
const nodePrefix = { 4: 24, 6: 64 } as const;
/** At most so many bits of an IPv6 range may tell nodes apart (`clusterSubnetMaxDiff` of kube-controller-manager). */
const mostNodeBits = 16;

function checkSizes(spec: ProviderConfigSpec, ranges: readonly Range[]): Finding[] {
  const old = spec.kubernetes.versions.some(({ version }) => !atLeast(version, '1.34'));
  // Patches may bring another CNI or another length for each node.
  const patched = spec.talos.patches.length + spec.controlPlane.patches.length > 0;
  return ranges.flatMap((one) => {
    if (one.field.startsWith(services)) return checkServices(one, old);
    return patched ? [] : checkPods(one, nodesPerCluster(spec));
  });
}

const nodesPerCluster = ({ controlPlane, workerPools }: ProviderConfigSpec): number =>
  controlPlane.replicas + workerPools.reduce((sum, pool) => sum + pool.replicas, 0);

function checkServices({ field, text, range: { family, prefix } }: Range, old: boolean): Finding[] {
  if (prefix > longestService[family])
    return [invalid(field, `${text} is too small for Services. Use a prefix length up to /${longestService[family]}.`)];
  if (!old || prefix >= shortestService[family]) return [];
  const message = `${text} is too large: Kubernetes before 1.34 takes /${shortestService[family]} at most. Use a longer prefix length.`;
  return [invalid(field, message)];
}

function checkPods({ field, text, range: { family, prefix } }: Range, nodes: number): Finding[] {
  const bits = nodePrefix[family] - prefix;
  if (bits < 0 || 2 ** bits < nodes) {
    const needed = nodePrefix[family] - Math.ceil(Math.log2(nodes));
    const message = `${text} is too small: each of the ${nodes} nodes of a cluster gets a /${nodePrefix[family]} of it. Use /${needed} or shorter.`;
    return [invalid(field, message)];
  }
  if (family === 4 || bits <= mostNodeBits) return [];
  const message = `${text} is too large: Kubernetes hands out at most 2^${mostNodeBits} ranges of /${nodePrefix[family]}. Use /${nodePrefix[family] - mostNodeBits} or longer.`;
  return [invalid(field, message)];
}
