import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { CustomResourceDefinition } from '../../../src/kube/core-types.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { multiclusterCrd } from '../../support/fixtures/multicluster-crds.ts';
import type { Benchmark, Measurement } from '../measurement.ts';
import { cpuSeconds, residentMiB } from '../process-stats.ts';
import { createReadyClusters, manyClustersTestbed } from '../ready-clusters.ts';
import { awaitNoWrites, countProviderWrites, zeroMeasurement } from '../write-counts.ts';
import { measureEngagement } from './engagement.ts';

const count = 100;
const namespace = 'fleet';
/** Everything that is published is checked every ten minutes: the time of one check of each, and a little more. */
const restSeconds = 660;
const unpublishedSeconds = 300;

interface Rest {
  readonly writes: number;
  /** Of a core. */
  readonly share: number;
  readonly memoryMiB: number;
}

async function measureRest(testbed: Testbed, seconds: number): Promise<Rest> {
  await awaitNoWrites(countProviderWrites(testbed));
  const pid = testbed.provider.pid ?? 0;
  const [writes, before] = [countProviderWrites(testbed), await cpuSeconds(pid)];
  await pause(seconds * 1000);
  if (testbed.provider.pid !== pid) throw new Error('The provider was restarted while it was measured.');
  const share = ((await cpuSeconds(pid)) - before) / seconds;
  return { writes: writes(), share, memoryMiB: await residentMiB(pid) };
}

/** Publishes all Clusters as kubeconfig Secret, ClusterProfile and Argo CD Secret. Returns the seconds until it is done. */
async function publishAll({ platform, objects, recorder }: Testbed): Promise<number> {
  await platform.create(CustomResourceDefinition, multiclusterCrd('ClusterProfile'));
  await objects.ensureNamespace(namespace);
  const section = { namespace, clusterRole: 'view' };
  const publish = { kubeconfigSecret: section, clusterProfile: section, argoCD: section };
  const startedAt = performance.now();
  await platform.merge(ProviderConfig, { name: 'home' }, { spec: { publish } });
  const published = (): number => {
    const sightings = recorder.of(Cluster).filter(({ object: { status } }) => isPublished(status?.conditions));
    return new Set(sightings.map(({ object }) => object.metadata.name)).size;
  };
  await eventually('all are published', () => published() === count, 300);
  return (performance.now() - startedAt) / 1000;
}

const isPublished = (conditions: readonly { readonly type: string; readonly status: string }[] = []): boolean =>
  conditions.some(({ type, status }) => type === 'Published' && status === 'True');

/** The provider's writes after a restart, until it has asked every cluster for what it has there. */
async function measureRestart(testbed: Testbed): Promise<Measurement> {
  const [start, writes] = [testbed.calls.length, countProviderWrites(testbed)];
  await testbed.provider.restart();
  const asked = (): number =>
    testbed.calls
      .slice(start)
      .filter(({ simulator, name }) => simulator === 'workload' && /^GET .*\/serviceaccounts/.test(name)).length;
  await eventually('it has looked at the accounts of every cluster', () => asked() >= count, 300);
  await pause(20_000);
  return zeroMeasurement('Writes after a restart', writes());
}

/** Many published clusters with nothing to do, and how soon a real consumer has a new one. */
export const publicationBenchmark: Benchmark = {
  name: `${count} published clusters`,
  async measure(say) {
    const testbed = await Testbed.open({ subnet: '127.43.140', ...manyClustersTestbed });
    try {
      testbed.provider.start();
      await testbed.objects.credentials();
      await testbed.objects.config('home', { pool: [10, 250] });
      await createReadyClusters(testbed, count, say);
      const without = await measureRest(testbed, unpublishedSeconds);
      say(`without publication: ${(without.share * 100).toFixed(2)} % of a core, ${without.memoryMiB.toFixed(0)} MiB`);
      const seconds = await publishAll(testbed);
      say(`all are published after ${seconds.toFixed(0)} s`);
      const published = await measureRest(testbed, restSeconds);
      return [
        ...restMeasurements(without, published),
        { what: `From spec.publish to ${count} published clusters`, measured: `${seconds.toFixed(1)} s`, goal: '' },
        await measureRestart(testbed),
        ...(await measureEngagement(testbed, namespace, say)),
      ];
    } catch (error) {
      process.stderr.write(testbed.tail());
      throw error;
    } finally {
      await testbed.close();
    }
  },
};

function restMeasurements(without: Rest, published: Rest): Measurement[] {
  const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
  const share = (published.share - without.share) / count;
  const kibi = ((published.memoryMiB - without.memoryMiB) * 1024) / count;
  return [
    zeroMeasurement(`Three forms each: writes in ${restSeconds} s while idle`, published.writes),
    {
      what: 'Processor time while idle for each published cluster, with one check of it in ten minutes',
      measured: `${(share * 100).toFixed(4)} % of a core (${percent(published.share)} − ${percent(without.share)} without publication, ÷ ${count})`,
      goal: '',
    },
    {
      what: 'Resident memory for each published cluster',
      measured: `${kibi.toFixed(0)} KiB (${published.memoryMiB.toFixed(0)} MiB − ${without.memoryMiB.toFixed(0)} MiB, ÷ ${count})`,
      goal: '',
    },
  ];
}
