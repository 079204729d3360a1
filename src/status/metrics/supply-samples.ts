import { findHostSection } from '../../api/schema/host-sections.ts';
import type { FleetSamples } from '../../server/fleet-metrics.ts';
import type { SystemJson } from '../api-types.ts';
import { listAddressPools } from '../views/address-pools.ts';
import type { FleetSources } from '../views/status-sources.ts';
import { Tally } from './tally.ts';

/** What is left for further machines: Hosts, addresses, and the space and memory of systems. */
export const listSupplySamples = (sources: FleetSources): FleetSamples => ({
  ...listHostSamples(sources),
  ...listAddressSamples(sources),
  ...listSystemSamples(sources.measurements.systems),
});

function listHostSamples({ stores }: FleetSources): Pick<FleetSamples, 'hosts'> {
  const tally = new Tally<'platform' | 'state'>();
  for (const { spec, status } of stores.hosts.list())
    tally.add({ platform: findHostSection(spec)?.name ?? '', state: status?.state ?? 'Pending' });
  return { hosts: tally.samples };
}

function listAddressSamples(sources: FleetSources): Pick<FleetSamples, 'addresses' | 'addresses_free'> {
  const pools = listAddressPools(sources).flatMap(({ configs, total, free }) =>
    configs.map((provider_config) => ({ labels: { provider_config }, total, free })),
  );
  return {
    addresses: pools.map(({ labels, total }) => ({ labels, value: total })),
    addresses_free: pools.flatMap(({ labels, free }) => (free === undefined ? [] : [{ labels, value: free }])),
  };
}

function listSystemSamples(systems: readonly SystemJson[]): FleetSamples {
  const volumes = systems.flatMap(({ system, volumes: all }) =>
    all.map((volume) => ({ labels: { system, volume: volume.name }, volume })),
  );
  return {
    system_reachable: systems.map(({ system, problem }) => ({ labels: { system }, value: problem ? 0 : 1 })),
    system_memory_available_bytes: systems.flatMap(({ system, memory }) =>
      memory ? [{ labels: { system }, value: memory.availableBytes }] : [],
    ),
    system_volume_available_bytes: volumes.map(({ labels, volume }) => ({ labels, value: volume.availableBytes })),
    system_volume_size_bytes: volumes.flatMap(({ labels, volume: { totalBytes } }) =>
      totalBytes === undefined ? [] : [{ labels, value: totalBytes }],
    ),
    system_volume_healthy: volumes.map(({ labels, volume }) => ({ labels, value: volume.isHealthy ? 1 : 0 })),
  };
}
