import { Gauge, type Registry } from 'prom-client';

/** The backups of one Cluster, at the time of a scrape. */
export interface BackupMetric {
  readonly namespace: string;
  readonly cluster: string;
  readonly lastSuccess?: Date | undefined;
  readonly bytes?: number | undefined;
  readonly seconds?: number | undefined;
  readonly failures: number;
}

const gauges: readonly {
  readonly name: string;
  readonly help: string;
  /** Undefined: the cluster has no such value yet. */
  toValue(backup: BackupMetric): number | undefined;
}[] = [
  {
    name: 'backup_last_success_timestamp_seconds',
    help: 'When the last complete backup of a Cluster was begun, in seconds since 1970; 0 without one.',
    toValue: ({ lastSuccess }) => (lastSuccess?.getTime() ?? 0) / 1000,
  },
  {
    name: 'backup_last_duration_seconds',
    help: 'Duration of the last complete backup of a Cluster.',
    toValue: ({ seconds }) => seconds,
  },
  {
    name: 'backup_last_size_bytes',
    help: 'Size of the etcd snapshot in the last complete backup of a Cluster, before encryption.',
    toValue: ({ bytes }) => bytes,
  },
  {
    name: 'backup_consecutive_failures',
    help: 'Failed attempts to back up a Cluster since the last complete backup.',
    toValue: ({ failures }) => failures,
  },
];

/** Nothing is exported before the first call of the result, nor while this process does not lead. */
export function createBackupGauges(registry: Registry): (list: () => readonly BackupMetric[]) => void {
  let list: () => readonly BackupMetric[] = () => [];
  for (const { name, help, toValue } of gauges)
    new Gauge({
      name: `cluster_provider_talos_${name}`,
      help,
      labelNames: ['namespace', 'cluster'],
      registers: [registry],
      collect() {
        this.reset();
        for (const backup of list()) {
          const { namespace, cluster } = backup;
          const value = toValue(backup);
          if (value !== undefined) this.set({ namespace, cluster }, value);
        }
      },
    });
  return (listBackups) => {
    list = listBackups;
  };
}
