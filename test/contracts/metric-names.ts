import { createMetrics } from '../../src/server/metrics.ts';

/** The names of all series that the provider can export, those of histograms included. */
export function registeredMetricNames(): ReadonlySet<string> {
  const metrics = createMetrics().registry.getMetricsAsArray() as unknown as readonly { name: string; type: string }[];
  return new Set(
    metrics.flatMap(({ name, type }) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

/** The names of series in a query: what stands before a selector. */
export const seriesNamesOf = (query: string): readonly string[] =>
  [...query.matchAll(/([a-z_:][a-z0-9_:]*)\{/g)].map(([, name = '']) => name);
