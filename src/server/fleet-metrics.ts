import { Gauge, type Registry } from 'prom-client';
import { oncePerScrape } from './once-per-scrape.ts';

/**
 * Gauges of the state of the fleet. Names of clusters and machines are no labels: everybody who may read metrics would learn
 * them, and the number of series would grow with the fleet.
 */
const fleetMetrics = {
  clusters: {
    help: 'Clusters, by ProviderConfig and phase: Pending, Progressing, Ready or Terminating.',
    labels: ['provider_config', 'phase'],
  },
  cluster_health: {
    help: 'Clusters, by ProviderConfig and the health that the status page shows: ready, attention, creating, unhealthy or deleting.',
    labels: ['provider_config', 'health'],
  },
  cluster_health_longest_seconds: {
    help: 'Time since which the Cluster that has a health for longest has it, by ProviderConfig and health. Without those that are ready.',
    labels: ['provider_config', 'health'],
  },
  machines: {
    help: 'Machines, by ProviderConfig, role and phase: Pending, Provisioning, Ready, Degraded, Releasing or Failed.',
    labels: ['provider_config', 'role', 'phase'],
  },
  machines_stuck: {
    help: 'Machines of a ProviderConfig that failed, are overdue, or wait for something that a user may have to do.',
    labels: ['provider_config'],
  },
  step_longest_seconds: {
    help: 'Time since which the Machine that is in a step for longest is in it, by platform, plan and step.',
    labels: ['platform', 'plan', 'step'],
  },
  conditions: {
    help: 'Conditions of all objects of this provider, by kind of object, type, status and reason. Reasons that only one step or platform has are counted as other.',
    labels: ['kind', 'type', 'status', 'reason'],
  },
  hosts: { help: 'Hosts, by platform and state.', labels: ['platform', 'state'] },
  addresses: {
    help: 'Addresses of network.addressPool, by ProviderConfig. ProviderConfigs with the same pool share its addresses.',
    labels: ['provider_config'],
  },
  addresses_free: {
    help: 'Addresses of network.addressPool that nothing holds, by ProviderConfig.',
    labels: ['provider_config'],
  },
  system_reachable: {
    help: '1 if the last measurement of a system that machines are created on succeeded, by name of the system.',
    labels: ['system'],
  },
  system_memory_available_bytes: {
    help: 'Memory of a system that further machines can be given, when it was last measured.',
    labels: ['system'],
  },
  system_volume_available_bytes: {
    help: 'Free space of a pool of a system, when it was last measured.',
    labels: ['system', 'volume'],
  },
  system_volume_size_bytes: { help: 'Usable size of a pool of a system.', labels: ['system', 'volume'] },
  system_volume_healthy: {
    help: '1 if a pool of a system was healthy when it was last measured.',
    labels: ['system', 'volume'],
  },
  access_token_earliest_expiry_timestamp_seconds: {
    help: 'End of the granted token that ends first, in seconds since 1970. Tokens are renewed after four fifths of their time.',
    labels: [],
  },
} as const satisfies Record<string, { readonly help: string; readonly labels: readonly string[] }>;

type FleetMetrics = typeof fleetMetrics;
export type FleetMetricName = keyof FleetMetrics;

export interface MetricSample<L extends string = string> {
  readonly labels: Readonly<Record<L, string>>;
  readonly value: number;
}

/** The samples of each metric at the time of a scrape. */
export type FleetSamples = {
  readonly [N in FleetMetricName]?: readonly MetricSample<FleetMetrics[N]['labels'][number]>[];
};

/** Nothing is exported before the first call of the result. */
export function createFleetGauges(registry: Registry): (list: () => FleetSamples) => void {
  let list: () => FleetSamples = () => ({});
  for (const name of Object.keys(fleetMetrics) as FleetMetricName[]) {
    const { help, labels } = fleetMetrics[name];
    new Gauge({
      name: `cluster_provider_talos_${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        this.reset();
        // A gauge without labels has the value zero from the start: without a sample it has none.
        if (labels.length === 0) this.remove();
        for (const sample of (list()[name] ?? []) as readonly MetricSample[]) this.set(sample.labels, sample.value);
      },
    });
  }
  return (listSamples) => {
    list = oncePerScrape(listSamples);
  };
}
