import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { missingForRealKube } from '../../peers/kube-apiserver.ts';
import { type Benchmark, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { cpuSeconds, residentMiB } from '../process-stats.ts';
import { awaitNoWrites, zeroMeasurement } from '../write-counts.ts';
import { createClusterTemplate } from './cluster-template.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { machinesPerCluster } from './fleet-layout.ts';
import { createSecretsBundles } from './seed-fleet.ts';

/** Numbers of machines, each measured with a separate fleet; `FLEET_SIZES=99,3000` measures others. */
const sizes = (process.env['FLEET_SIZES'] ?? '100,1000,3000').split(',').map(Number);
/** How long the largest fleet is measured; the smaller ones, which only show the growth, two thirds of that. */
const restSeconds = Number(process.env['FLEET_REST_SECONDS'] ?? 120);
/**
 * Delay after the last write, so that periodic work is in its rhythm, and V8 has collected the garbage of the start.
 */
const warmSeconds = 120;

/** The result of one fleet. */
interface FleetResult {
  readonly machines: number;
  readonly seconds: number;
  readonly writes: number;
  /** Of a core. */
  readonly share: number;
  readonly memory: number;
  readonly writesAfterRestart: number;
  /** Clusters and Machines that are not ready at the end. */
  readonly unready: number;
  /** Milliseconds. */
  readonly lists: number;
  readonly works: number;
  readonly asked: number;
}

async function measureFleet(options: FleetOptions, seconds: number, say: (line: string) => void): Promise<FleetResult> {
  const machines = options.clusters * machinesPerCluster;
  const fleet = await Fleet.open(options);
  try {
    say(`${machines} machines are laid out`);
    const lists = median([await fleet.bareLists(), await fleet.bareLists(), await fleet.bareLists()]);
    const writes = async (): Promise<number> => (await fleet.writes()).length;
    const laid = await writes();
    say(`the provider works after ${formatSeconds(await fleet.start())}`);
    say(`it has asked all after ${formatSeconds(await fleet.untilAsked())}`);
    await awaitNoWrites(writes);
    const settled = (await fleet.writes()).slice(laid);
    say(`${settled.length} writes until it was idle: the fleet is ${settled.length === 0 ? '' : 'not '}as it would be`);
    for (const line of settled.slice(0, 5)) say(line);
    await pause(warmSeconds * 1000);
    const pid = fleet.provider.pid ?? 0;
    const [written, used] = [await writes(), await cpuSeconds(pid)];
    const called = await fleet.calls();
    await pause(seconds * 1000);
    const share = ((await cpuSeconds(pid)) - used) / seconds;
    const memory = await residentMiB(pid);
    const resting = (await writes()) - written;
    for (const [name, count] of await fleet.calls()) {
      const here = count - (called.get(name) ?? 0);
      if (here > 0) say(`${((here / seconds) * 60).toFixed(1)} a minute: ${name}`);
    }
    say(`${resting} writes, ${(share * 100).toFixed(2)} % of a core, ${memory.toFixed(0)} MiB`);
    const before = await writes();
    const restarts: number[] = [];
    while (restarts.length < 3) {
      await fleet.provider.stop();
      restarts.push(await fleet.start());
    }
    const [works, asked] = [median(restarts), await fleet.untilAsked()];
    await awaitNoWrites(writes);
    const writesAfterRestart = (await writes()) - before;
    say(`lists ${formatSeconds(lists)}, restart ${formatSeconds(works)}, all asked ${formatSeconds(asked)}`);
    const unready = await fleet.unready();
    for (const line of unready.slice(0, 3)) say(line);
    return {
      machines,
      seconds,
      writes: resting,
      share,
      memory,
      writesAfterRestart,
      lists,
      unready: unready.length,
      works,
      asked,
    };
  } catch (error) {
    process.stderr.write(fleet.provider.tail());
    throw error;
  } finally {
    await fleet.close();
  }
}

const formatSeconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

/** Ready clusters of three machines each, on ten NAS, in the state in which the provider leaves them. */
export const fleetBenchmark: Benchmark = {
  name: 'An idle fleet',
  missing: missingForRealKube(),
  async measure(say) {
    const folder = await mkdtemp(join(tmpdir(), 'fleet-pattern-'));
    try {
      const pattern = await createClusterTemplate(folder);
      const max = Math.round(Math.max(...sizes) / machinesPerCluster);
      const bundles = await createSecretsBundles(folder, max);
      say('one cluster was made, and the secrets of the others');
      const taken: FleetResult[] = [];
      for (const size of sizes) {
        const clusters = Math.round(size / machinesPerCluster);
        const seconds = clusters === max ? restSeconds : Math.round((restSeconds * 2) / 3);
        taken.push(await measureFleet({ pattern, folder, bundles, clusters }, seconds, say));
      }
      return fleetMeasurements(taken);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** The values of the largest fleet, and their growth from the next smaller one. */
function fleetMeasurements(all: readonly FleetResult[]): Measurement[] {
  const [one, before] = [all.at(-1), all.at(-2)];
  if (!one) return [];
  const of = `${one.machines / machinesPerCluster} Clusters, ${one.machines} Machines`;
  const words = (milliseconds: number): string => `${formatSeconds(milliseconds)} ÷ ${formatSeconds(one.lists)}`;
  return [
    zeroMeasurement(`${of}: writes in ${one.seconds} s while idle`, one.writes),
    zeroMeasurement('Clusters and Machines that are not ready then', one.unready),
    belowMeasurement('Processor time while idle', one.share * 100, 1, '% of a core'),
    belowMeasurement('Resident memory', one.memory, 350, 'MiB'),
    zeroMeasurement('Writes after a restart', one.writesAfterRestart),
    ratioMeasurement('Restart until all controllers work ÷ the bare lists', one.works, one.lists, 2, words(one.works)),
    {
      what: 'Restart until every cluster has been asked ÷ the bare lists',
      measured: `${(one.asked / one.lists).toFixed(2)} (${words(one.asked)})`,
      goal: '',
    },
    ...(before ? growthMeasurements(before, one) : []),
    ...all.slice(0, -1).map(summaryMeasurement),
  ];
}

const belowMeasurement = (what: string, value: number, max: number, unit: string): Measurement => ({
  what,
  measured: `${value.toFixed(max < 10 ? 2 : 0)} ${unit}`,
  goal: `< ${max}`,
  reached: value < max,
});

/** No value may grow faster than the number of machines. */
function growthMeasurements(before: FleetResult, after: FleetResult): Measurement[] {
  const times = after.machines / before.machines;
  const from = `from ${before.machines} to ${after.machines} Machines (× ${times.toFixed(1)})`;
  const grown = (what: string, of: (taken: FleetResult) => number): Measurement => {
    const factor = of(after) / of(before);
    return { what: `${what} ${from}`, measured: `× ${factor.toFixed(1)}`, goal: 'no more', reached: factor <= times };
  };
  return [
    grown('Processor time', ({ share }) => share),
    grown('Memory', ({ memory }) => memory),
    grown('Restart until every cluster has been asked', ({ asked }) => asked),
  ];
}

const summaryMeasurement = ({
  machines,
  writes,
  writesAfterRestart,
  share,
  memory,
  works,
  asked,
  lists,
}: FleetResult): Measurement => ({
  what: `${machines} Machines`,
  measured: `${writes} and ${writesAfterRestart} writes, ${(share * 100).toFixed(2)} % of a core, ${memory.toFixed(0)} MiB, restart ${formatSeconds(works)}, all asked ${formatSeconds(asked)}, lists ${formatSeconds(lists)}`,
  goal: '',
});
