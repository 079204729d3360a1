import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { elapsedMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { cpuSeconds } from '../process-stats.ts';
import { awaitNoWrites, countProviderWrites } from '../write-counts.ts';
import { changeConfig, labelPatches } from './changed-cluster.ts';

/** `ROLLOUT_CLUSTERS=20` measures fewer. */
const count = Number(process.env['ROLLOUT_CLUSTERS'] ?? 100);
const single = 'single';
const template = 'template';

/** Clusters of one node each that follow one ProviderConfig, one at a time, compared with one cluster that is alone. */
export async function measureManyClusters(say: (line: string) => void): Promise<readonly Measurement[]> {
  const seeds = { truenas: { memoryMiB: 1_048_576, pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } };
  // It may lose its Lease while the clusters are created: the simulators of so many then need the whole machine.
  const provider = { asProgram: { speed: 1, verbosity: 'info' }, isRevived: true } as const;
  const testbed = await Testbed.open({ subnet: '127.42.236', timeScale: 0.05, seeds, provider });
  try {
    testbed.provider.start();
    await createClusters(testbed);
    await awaitNoWrites(countProviderWrites(testbed));
    say(`${count + 1} clusters are ready`);
    const alone: number[] = [];
    for (const value of ['a', 'b', 'c']) alone.push(await changeAll(testbed, single, 1, value));
    const one = median(alone);
    say(`one takes ${(one / 1000).toFixed(1)} s`);
    const pid = testbed.provider.pid ?? 0;
    const before = await cpuSeconds(pid);
    const all = await changeAll(testbed, template, count, 'a');
    const share = ((await cpuSeconds(pid)) - before) / (all / 1000);
    if (testbed.provider.pid !== pid) throw new Error('the provider was restarted meanwhile');
    say(`${count} take ${(all / 1000).toFixed(0)} s, ${(share * 100).toFixed(1)} % of a core`);
    const words = `${(all / 1000).toFixed(0)} s ÷ ${count} × ${(one / 1000).toFixed(1)} s`;
    const what = `A label on ${count} clusters of one ProviderConfig, one cluster at a time ÷ ${count} × one cluster alone`;
    return [
      ratioMeasurement(what, all, count * one, 1.1, words),
      {
        what: 'Processor time meanwhile',
        measured: `${(share * 100).toFixed(1)} % of a core`,
        goal: '< 5',
        reached: share < 0.05,
      },
    ];
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

async function createClusters({ objects, platform }: Testbed): Promise<void> {
  await objects.credentials();
  await objects.config(single, { pool: [10, 19] });
  await objects.config(template, { pool: [20, 250] });
  const refs = Array.from({ length: count }, (_, i): NamespacedRef => ({ namespace: 'bench', name: `c-${i}` }));
  for (const ref of refs) await objects.cluster(ref, { config: template });
  await objects.cluster({ namespace: 'bench', name: single }, { config: single });
  const areReady = async (): Promise<boolean> => {
    const { items } = await platform.list(Cluster);
    return items.every(({ status }) => status?.phase === 'Ready');
  };
  await eventually('all are ready', areReady, 900);
}

/** Milliseconds until every cluster of the ProviderConfig has a new label. */
async function changeAll(testbed: Testbed, config: string, clusters: number, value: string): Promise<number> {
  const before = (await testbed.platform.get(ProviderConfig, { name: config })).status?.rollout?.revision;
  return await elapsedMs(async () => {
    await changeConfig(testbed, config, labelPatches(value));
    const isDone = async (): Promise<boolean> => {
      const { status } = await testbed.platform.get(ProviderConfig, { name: config });
      const { revision, updated, updating } = status?.rollout ?? {};
      return revision !== before && updated === clusters && updating === 0;
    };
    await eventually(`${clusters} clusters have followed ${config}`, isDone, 60 + 30 * clusters);
  });
}
