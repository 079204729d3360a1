import { Gauge, type Registry } from 'prom-client';

/** A Cluster that is, or is to be, published, at the time of a scrape. */
export interface PublicationMetric {
  /** Name of its ProviderConfig. */
  readonly config: string;
  readonly isPublished: boolean;
}

/** Nothing is exported before the first call of the result, nor while this process does not lead. */
export function createPublicationGauge(registry: Registry): (list: () => readonly PublicationMetric[]) => void {
  let list: () => readonly PublicationMetric[] = () => [];
  new Gauge({
    name: 'cluster_provider_talos_published_clusters',
    help: 'Clusters of a ProviderConfig with spec.publish, by whether they are published as it says.',
    labelNames: ['provider_config', 'published'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { config, isPublished } of list())
        this.inc({ provider_config: config, published: String(isPublished) });
    },
  });
  return (listPublications) => {
    list = listPublications;
  };
}
