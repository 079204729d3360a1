import { setTimeout as pause } from 'node:timers/promises';
import { Testbed } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';
import type { Benchmark, Measurement } from './measurement.ts';
import { cpuSeconds, residentMiB } from './process-stats.ts';
import { createReadyClusters, manyClustersTestbed } from './ready-clusters.ts';
import { awaitNoWrites, countProviderWrites, zeroMeasurement } from './write-counts.ts';

const count = 100;
const restSeconds = 120;

/** The provider's work while nothing changes. */
async function measureIdle(testbed: Testbed): Promise<Measurement[]> {
  const pid = testbed.provider.pid ?? 0;
  const [writes, before] = [countProviderWrites(testbed), await cpuSeconds(pid)];
  await pause(restSeconds * 1000);
  const share = ((await cpuSeconds(pid)) - before) / restSeconds;
  const memory = await residentMiB(pid);
  return [
    zeroMeasurement(`Writes in ${restSeconds} s while idle`, writes()),
    { what: 'Processor time while idle', measured: `${(share * 100).toFixed(1)} % of a core`, goal: '' },
    { what: 'Resident memory', measured: `${memory.toFixed(0)} MiB`, goal: '' },
  ];
}

/** The provider's writes after a restart, until it has reconciled every cluster. */
async function measureRestart(testbed: Testbed): Promise<Measurement> {
  const [start, writes] = [testbed.calls.length, countProviderWrites(testbed)];
  await testbed.provider.restart();
  const checked = (): number =>
    testbed.calls
      .slice(start)
      .filter(({ simulator, name }) => simulator === 'workload' && name.endsWith('/namespaces/kube-system')).length;
  await eventually('it has looked at every cluster', () => checked() >= count, 300);
  await pause(5000);
  return zeroMeasurement('Writes after a restart', writes());
}

/** Many ready Clusters, and nothing to do. */
export const idleClustersBenchmark: Benchmark = {
  name: `${count} Clusters`,
  async measure(say) {
    const testbed = await Testbed.open({ subnet: '127.42.202', ...manyClustersTestbed });
    try {
      testbed.provider.start();
      await testbed.objects.credentials();
      await testbed.objects.config('home', { pool: [10, 250] });
      await createReadyClusters(testbed, count, say);
      await awaitNoWrites(countProviderWrites(testbed));
      return [...(await measureIdle(testbed)), await measureRestart(testbed)];
    } catch (error) {
      process.stderr.write(testbed.tail());
      throw error;
    } finally {
      await testbed.close();
    }
  },
};
