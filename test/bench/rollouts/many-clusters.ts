import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { elapsedMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { cpuSeconds } from '../process-stats.ts';
import { awaitNoWrites, countProviderWrites } from '../write-counts.ts';
import { changeConfig, labelPatches, restartPatches } from './changed-cluster.ts';

/** `ROLLOUT_CLUSTERS=20` measures fewer. */
const count = Number(process.env['ROLLOUT_CLUSTERS'] ?? 100);
const single = 'single';
const template = 'template';

/** Of the clusters that restart for their change, as many are awaited: the share of the processor is that of all. */
const restarts = Math.min(3, count);

/**
 * Clusters of one node each that follow one ProviderConfig, one at a time, compared with one cluster that is alone. The
 * waits of the provider and the times of the nodes are those of reality.
 */
export async function measureManyClusters(say: (line: string) => void): Promise<readonly Measurement[]> {
  const seeds = { truenas: { memoryMiB: 1_048_576, pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } };
  // It may lose its Lease while the clusters are created: the simulators of so many then need the whole machine.
  const provider = { asProgram: { speed: 1, verbosity: 'info' }, isRevived: true } as const;
  const testbed = await Testbed.open({ subnet: '127.42.236', timeScale: 1, seeds, provider });
  try {
    testbed.provider.start();
    await createClusters(testbed);
    await awaitNoWrites(countProviderWrites(testbed));
    say(`${count + 1} clusters are ready`);
    const alone: number[] = [];
    for (const value of ['a', 'b', 'c']) alone.push(await changeAll(testbed, single, 1, value));
    const one = median(alone);
    say(`one takes ${(one / 1000).toFixed(1)} s`);
    const changed = await measureWork(testbed, () => changeAll(testbed, template, count, 'a'));
    const { ms: all } = changed;
    say(`${count} take ${describeWork(changed)}`);
    const restarted = await measureWork(testbed, () => restartSome(testbed));
    say(`${restarts} restarts take ${describeWork(restarted)}`);
    const words = `${(all / 1000).toFixed(0)} s ÷ ${count} × ${(one / 1000).toFixed(1)} s`;
    const what = `A label on ${count} clusters of one ProviderConfig, one cluster at a time ÷ ${count} × one cluster alone`;
    return [
      ratioMeasurement(what, all, count * one, 1.1, words),
      shareMeasurement('Processor time meanwhile', changed),
      shareMeasurement(
        `The same processor time ÷ ${count} × one cluster alone, which is what ${count} clusters may take`,
        { ...changed, ms: count * one },
      ),
      shareMeasurement(
        `Processor time while ${restarts} of ${count} clusters restart for a change, one after the other, and the others wait`,
        restarted,
      ),
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

/** How long work takes, and the processor time that the provider uses meanwhile. */
interface MeasuredWork {
  readonly ms: number;
  readonly cpuSeconds: number;
}

const shareOf = ({ ms, cpuSeconds: used }: MeasuredWork): number => used / (ms / 1000);

const describeWork = (work: MeasuredWork): string =>
  `${(work.ms / 1000).toFixed(0)} s, and ${work.cpuSeconds.toFixed(1)} s of a processor`;

const shareMeasurement = (what: string, work: MeasuredWork): Measurement => ({
  what,
  measured: `${(shareOf(work) * 100).toFixed(1)} % of a core (${work.cpuSeconds.toFixed(1)} s ÷ ${(work.ms / 1000).toFixed(0)} s)`,
  goal: '< 5',
  reached: shareOf(work) < 0.05,
});

async function measureWork({ provider }: Testbed, work: () => Promise<unknown>): Promise<MeasuredWork> {
  const pid = provider.pid ?? 0;
  const before = await cpuSeconds(pid);
  const ms = await elapsedMs(work);
  const used = (await cpuSeconds(pid)) - before;
  if (provider.pid !== pid) throw new Error('the provider was restarted meanwhile');
  return { ms, cpuSeconds: used };
}

/** Milliseconds until every cluster of the ProviderConfig has a new label. */
async function changeAll(testbed: Testbed, config: string, clusters: number, value: string): Promise<number> {
  const isDone = ({ updated, updating }: Rollout): boolean => updated === clusters && updating === 0;
  return await elapsedMs(() => changeUntil(testbed, config, labelPatches(value), isDone, 60 + 30 * clusters));
}

/** Until the first clusters of the ProviderConfig have restarted for a change. */
const restartSome = (testbed: Testbed): Promise<void> =>
  changeUntil(testbed, template, restartPatches, ({ updated }) => (updated ?? 0) >= restarts, 300 * restarts);

type Rollout = NonNullable<NonNullable<ProviderConfig['status']>['rollout']>;

/** Makes a change and waits until the rollout of it is where it is awaited. */
async function changeUntil(
  testbed: Testbed,
  config: string,
  patches: object,
  isThere: (rollout: Rollout) => boolean,
  seconds: number,
): Promise<void> {
  const rolloutOf = async () => (await testbed.platform.get(ProviderConfig, { name: config })).status?.rollout;
  const before = (await rolloutOf())?.revision;
  await changeConfig(testbed, config, patches);
  const isDone = async (): Promise<boolean> => {
    const rollout = await rolloutOf();
    return rollout !== undefined && rollout.revision !== before && isThere(rollout);
  };
  await eventually(`the rollout of ${config} is there`, isDone, seconds);
}
