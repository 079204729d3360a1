import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createPublicationGauge } from './publication-metrics.ts';

it('published clusters are counted by ProviderConfig, and only those of the last scrape', async () => {
  const registry = new Registry();
  const setPublications = createPublicationGauge(registry);
  let all = [
    { config: 'home', isPublished: true },
    { config: 'home', isPublished: true },
    { config: 'home', isPublished: false },
  ];
  setPublications(() => all);
  const text = await registry.metrics();
  expect(text).toContain('published_clusters{provider_config="home",published="true"} 2');
  expect(text).toContain('published_clusters{provider_config="home",published="false"} 1');
  all = [];
  expect(await registry.metrics()).not.toContain('published_clusters{');
});
