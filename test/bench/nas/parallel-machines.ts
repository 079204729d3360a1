import { systemClock } from '../../../src/lib/clock.ts';
import { type NasLocation, TrueNasProviderProcess, useNas } from '../../platforms/truenas/true-nas-platform-fixture.ts';
import { elapsedMs, formatMs, type Measurement, median, ratioMeasurement } from '../measurement.ts';
import { SimulatorProcess } from '../simulator-process.ts';
import { nasLatencyMs } from './call-counts.ts';

const count = 20;
const schedule = 3;

/** Time of twenty machines in parallel ÷ time of one: how much they slow each other down. */
export async function measureParallelMachines(): Promise<Measurement> {
  const taken: { readonly alone: number; readonly together: number }[] = [];
  while (taken.length < schedule) taken.push(await measureRound());
  const [one, all] = [median(taken.map(({ alone }) => alone)), median(taken.map(({ together }) => together))];
  const what = `${count} machines at once ÷ one alone, each call taking ${nasLatencyMs} ms`;
  return ratioMeasurement(what, all, one, 1.5, `${formatMs(all)} ÷ ${formatMs(one)}, each the median of ${schedule}`);
}

/** On a system that only has the boot image, in a separate process. */
async function measureRound(): Promise<{ alone: number; together: number }> {
  const nas = new SimulatorProcess<NasLocation, object>(new URL('./nas-process.ts', import.meta.url), {});
  try {
    useNas(await nas.ready);
    const process = new TrueNasProviderProcess(systemClock);
    const make = async (name: string): Promise<void> => {
      const verdict = await process.walk('provision', name, { progress: undefined });
      if (verdict.kind !== 'finished') throw new Error(`${name} did not come up`);
    };
    await make('warm-up');
    await nas.ask();
    const alone = await elapsedMs(() => make('alone'));
    const names = Array.from({ length: count }, (_, i) => `rush-${i}`);
    const together = await elapsedMs(() => Promise.all(names.map(make)));
    await process.kill();
    return { alone, together };
  } finally {
    useNas(undefined);
    await nas.close();
  }
}
