import { reservedAddresses } from '../../controllers/shared/addresses/fixed-endpoints.ts';
import { countIpAddresses, ipRangesOverlap, parseIp, parseIpRange } from '../../lib/net/ip.ts';
import type { AddressPoolJson } from '../api-types.ts';
import { type FleetSources, ownConfigs, ownMachines } from './status-sources.ts';

/** Number of pools that are shown. */
const maxPools = 50;

/** The free addresses of each pool; the emptiest first. ProviderConfigs with the same addresses share one. */
export function listAddressPools(sources: FleetSources): AddressPoolJson[] {
  const { heldAddresses } = sources.measurements;
  // Machines are known at once, and claims within a minute.
  const taken =
    heldAddresses && new Set([...heldAddresses, ...reservedAddresses(sources), ...machineAddresses(sources)]);
  const takenAddresses = taken && [...taken].flatMap((address) => parseIp(address) ?? []);
  const pools = [...groupConfigs(sources)].map(([pool, configs]): AddressPoolJson => {
    const ranges = pool.split(', ').flatMap((text) => parseIpRange(text) ?? []);
    const total = countIpAddresses(ranges);
    const used = takenAddresses?.filter((address) => ranges.some((range) => ipRangesOverlap(range, address))).length;
    return { pool, configs, total, ...(used === undefined ? {} : { free: Math.max(0, total - used) }) };
  });
  return pools.sort((a, b) => (a.free ?? 0) - (b.free ?? 0) || (a.pool < b.pool ? -1 : 1)).slice(0, maxPools);
}

function groupConfigs(sources: FleetSources): ReadonlyMap<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { metadata, spec } of ownConfigs(sources)) {
    const { addressPool } = spec.network ?? {};
    if (!addressPool?.length) continue;
    const pool = [...addressPool].sort().join(', ');
    groups.set(pool, [...(groups.get(pool) ?? []), metadata.name]);
  }
  return groups;
}

const machineAddresses = (sources: FleetSources): string[] =>
  ownMachines(sources).flatMap(({ spec, status }) => [status?.address ?? [], spec.virtualAddress ?? []].flat());
