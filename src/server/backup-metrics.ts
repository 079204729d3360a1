import { Gauge, type Registry } from 'prom-client';
import { oncePerScrape } from './once-per-scrape.ts';

/** The backups of one Cluster, at the time of a scrape. */
export interface BackupMetric {
  /** Name of its ProviderConfig. */
  readonly config: string;
  /** Time of the last complete backup; before the first one, when the Cluster was created. */
  readonly since: Date;
  readonly bytes?: number | undefined;
  readonly seconds?: number | undefined;
  /** Failures since the last complete backup. */
  readonly failures: number;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Names of clusters are no labels: everybody who may read metrics would learn them. */
const gauges: readonly {
  readonly name: string;
  readonly help: string;
  summarize(clusters: readonly BackupMetric[]): number;
}[] = [
  {
    name: 'backup_oldest_timestamp_seconds',
    help: 'Time of the last complete backup of the Cluster whose one is the oldest of a ProviderConfig, in seconds since 1970. A Cluster without a backup counts with its creation.',
    summarize: (clusters) => Math.min(...clusters.map(({ since }) => since.getTime() / 1000)),
  },
  {
    name: 'backup_failing_clusters',
    help: 'Clusters of a ProviderConfig whose last attempt to take a backup has failed.',
    summarize: (clusters) => clusters.filter(({ failures }) => failures > 0).length,
  },
  {
    name: 'backup_clusters',
    help: 'Clusters of a ProviderConfig that are backed up by a schedule.',
    summarize: (clusters) => clusters.length,
  },
  {
    name: 'backup_size_bytes',
    help: 'Size of the etcd snapshots in the last complete backups of all Clusters of a ProviderConfig, before encryption.',
    summarize: (clusters) => sum(clusters.map(({ bytes }) => bytes ?? 0)),
  },
  {
    name: 'backup_longest_duration_seconds',
    help: 'Duration of the last complete backup of the Cluster of a ProviderConfig for which it took longest.',
    summarize: (clusters) => Math.max(...clusters.map(({ seconds }) => seconds ?? 0)),
  },
];

/** Nothing is exported before the first call of the result, nor while this process does not lead. */
export function createBackupGauges(registry: Registry): (list: () => readonly BackupMetric[]) => void {
  let list: () => readonly BackupMetric[] = () => [];
  for (const { name, help, summarize } of gauges)
    new Gauge({
      name: `cluster_provider_talos_${name}`,
      help,
      labelNames: ['provider_config'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [provider_config, clusters] of byConfig(list())) this.set({ provider_config }, summarize(clusters));
      },
    });
  return (listBackups) => {
    list = oncePerScrape(listBackups);
  };
}

function byConfig(backups: readonly BackupMetric[]): ReadonlyMap<string, readonly BackupMetric[]> {
  const groups = new Map<string, BackupMetric[]>();
  for (const backup of backups) {
    const group = groups.get(backup.config);
    if (group) group.push(backup);
    else groups.set(backup.config, [backup]);
  }
  return groups;
}
