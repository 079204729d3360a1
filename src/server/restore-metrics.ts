import { Gauge, type Registry } from 'prom-client';
import { oncePerScrape } from './once-per-scrape.ts';

/** The restore of one Cluster, at the time of a scrape. */
export interface RestoreMetric {
  /** Name of its ProviderConfig. */
  readonly config: string;
  /** `waiting`: requested, and not begun. */
  readonly state: 'waiting' | 'running' | 'failed' | 'completed';
}

/** Names of clusters are no labels: everybody who may read metrics would learn them. */
const gauges: readonly { readonly state: RestoreMetric['state']; readonly help: string }[] = [
  {
    state: 'waiting',
    help: 'Clusters of a ProviderConfig with a requested restore of etcd that has not begun: it is rejected, or waits for an approval or a control plane.',
  },
  { state: 'running', help: 'Clusters of a ProviderConfig whose etcd is being restored.' },
  {
    state: 'failed',
    help: 'Clusters of a ProviderConfig whose restore of etcd waits for a user, because it has failed.',
  },
  { state: 'completed', help: 'Clusters of a ProviderConfig whose etcd was restored from a backup.' },
];

/** Nothing is exported before the first call of the result, nor for a ProviderConfig without restores. */
export function createRestoreGauges(registry: Registry): (list: () => readonly RestoreMetric[]) => void {
  let list: () => readonly RestoreMetric[] = () => [];
  for (const { state, help } of gauges)
    new Gauge({
      name: `cluster_provider_talos_restore_${state}_clusters`,
      help,
      labelNames: ['provider_config'],
      registers: [registry],
      collect() {
        this.reset();
        for (const restore of list()) this.inc({ provider_config: restore.config }, restore.state === state ? 1 : 0);
      },
    });
  return (listRestores) => {
    list = oncePerScrape(listRestores);
  };
}
