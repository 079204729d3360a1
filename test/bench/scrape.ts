import { createMetrics } from '../../src/server/metrics.ts';
import { listFleetSamples } from '../../src/status/metrics/fleet-samples.ts';
import { StatusFleet } from '../support/fixtures/status-fleet.ts';
import { type Benchmark, elapsedMs, formatMs, type Measurement, median } from './measurement.ts';

const clusterCount = 1000;
const machinesPerCluster = 5;
const scrapes = 15;
const maxMs = 200;
const maxSeries = 1000;

/** Ready clusters with all of their conditions, in four ProviderConfigs. */
function largeFleet(clusters: number): StatusFleet {
  const fleet = new StatusFleet();
  const configs = ['home', 'lab', 'metal', 'edge'];
  for (const name of configs) fleet.config(name);
  const conditionsOf = (types: readonly string[]) => types.map((type) => fleet.condition(type, 'True'));
  const ofCluster = 'Ready Accepted SecretsReady MachinesReady Bootstrapped EndpointReachable UpToDate BackedUp'.split(
    ' ',
  );
  const ofMachine = 'Ready Provisioned Joined Healthy NodeHealthy UpToDate'.split(' ');
  for (let i = 0; i < clusters; i += 1) {
    const config = configs[i % configs.length] ?? '';
    const cluster = fleet.cluster(`c-${i}`, { config, conditions: conditionsOf(ofCluster) });
    for (let slot = 0; slot < machinesPerCluster; slot += 1)
      fleet.machine(cluster, slot, { conditions: conditionsOf(ofMachine) });
  }
  return fleet;
}

async function scrape(fleet: StatusFleet): Promise<{ readonly series: number; readonly ms: number }> {
  const { registry, setFleet } = createMetrics();
  setFleet(() => listFleetSamples(fleet.sources(), { now: fleet.now, tokenExpiries: [] }));
  const times: number[] = [];
  let text = '';
  for (let i = 0; i < scrapes; i += 1)
    times.push(
      await elapsedMs(async () => {
        text = await registry.metrics();
      }),
    );
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  return { series, ms: median(times) };
}

/** What a scrape of the state of a large fleet costs, and that the number of series does not grow with it. */
export const scrapeBenchmark: Benchmark = {
  name: 'A scrape of metrics',
  async measure(): Promise<Measurement[]> {
    const small = await scrape(largeFleet(10));
    const large = await scrape(largeFleet(clusterCount));
    const name = `${clusterCount} Clusters, ${clusterCount * machinesPerCluster} Machines`;
    return [
      {
        what: `${name}: time of a scrape`,
        measured: `${formatMs(large.ms)} (median of ${scrapes}; 10 Clusters: ${formatMs(small.ms)})`,
        goal: `≤ ${maxMs} ms`,
        reached: large.ms <= maxMs,
      },
      {
        what: `${name}: series, of the fleet and of the process`,
        measured: `${large.series} (10 Clusters: ${small.series})`,
        goal: `≤ ${maxSeries}`,
        reached: large.series <= maxSeries,
      },
    ];
  },
};
