import { Gauge, type Registry } from 'prom-client';
import { oncePerScrape } from './once-per-scrape.ts';

/** One certificate authority of a Cluster, at the time of a scrape. */
export interface AuthorityMetric {
  /** Name of the ProviderConfig of the Cluster. */
  readonly config: string;
  /** `talos`, `kubernetes`, `etcd` or `aggregator`. */
  readonly authority: string;
  readonly expiresAt: Date;
  readonly isRotating: boolean;
}

/** Names of clusters are no labels: everybody who may read metrics would learn them. */
const gauges: readonly {
  readonly name: string;
  readonly help: string;
  summarize(authorities: readonly AuthorityMetric[]): number;
}[] = [
  {
    name: 'certificate_authority_expiry_timestamp_seconds',
    help: 'End of the certificate authority that ends first among the Clusters of a ProviderConfig, in seconds since 1970, by authority: talos, kubernetes, etcd or aggregator.',
    summarize: (authorities) => Math.min(...authorities.map(({ expiresAt }) => expiresAt.getTime() / 1000)),
  },
  {
    name: 'certificate_authority_rotating_clusters',
    help: 'Clusters of a ProviderConfig whose certificate authority is being rotated, by authority.',
    summarize: (authorities) => authorities.filter(({ isRotating }) => isRotating).length,
  },
];

/** Nothing is exported before the first call of the result, nor while this process does not lead. */
export function createAuthorityGauges(registry: Registry): (list: () => readonly AuthorityMetric[]) => void {
  let list: () => readonly AuthorityMetric[] = () => [];
  for (const { name, help, summarize } of gauges)
    new Gauge({
      name: `cluster_provider_talos_${name}`,
      help,
      labelNames: ['provider_config', 'authority'],
      registers: [registry],
      collect() {
        this.reset();
        for (const some of groupAuthorities(list())) {
          const [{ config: provider_config, authority }] = some;
          this.set({ provider_config, authority }, summarize(some));
        }
      },
    });
  return (listAuthorities) => {
    list = oncePerScrape(listAuthorities);
  };
}

type Group = [AuthorityMetric, ...AuthorityMetric[]];

/** By ProviderConfig and authority. */
function groupAuthorities(all: readonly AuthorityMetric[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of all) {
    const key = `${one.config} ${one.authority}`;
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}
