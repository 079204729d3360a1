import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from '../../src/api/openmcp/types.ts';
import { Testbed } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';
import type { Benchmark, Measurement } from './measurement.ts';
import { cpuSeconds, residentMiB } from './process-stats.ts';
import { awaitNoWrites, countProviderWrites, zeroMeasurement } from './write-counts.ts';

const count = 100;
const restSeconds = 120;

async function createReadyClusters({ objects, recorder }: Testbed, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now();
  for (let i = 0; i < count; i += 1) await objects.cluster({ namespace: 'bench', name: `c-${i}` });
  const ready = (): number => {
    const sightings = recorder.of(Cluster).filter(({ object }) => object.status?.phase === 'Ready');
    return new Set(sightings.map(({ object }) => object.metadata.name)).size;
  };
  await eventually('all are ready', () => ready() === count, 500);
  say(`${count} Clusters are ready after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}

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
      .filter(({ room, name }) => room === 'workload' && name.endsWith('/namespaces/kube-system')).length;
  await eventually('it has looked at every cluster', () => checked() >= count, 300);
  await pause(5000);
  return zeroMeasurement('Writes after a restart', writes());
}

/** Many ready Clusters, and nothing to do. */
export const idleClustersBenchmark: Benchmark = {
  name: `${count} Clusters`,
  async measure(say) {
    const seeds = { truenas: { memoryMiB: 1_048_576, pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } };
    const provider = { asProgram: { speed: 1, verbosity: 'info' } } as const;
    // A hundred nodes that poll each second of simulated time: at the default speed they would need a core for
    // themselves.
    const testbed = await Testbed.open({ subnet: '127.42.202', timeScale: 0.05, seeds, provider });
    try {
      testbed.provider.start();
      await testbed.objects.credentials();
      await testbed.objects.config('home', { pool: [10, 250] });
      await createReadyClusters(testbed, say);
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
