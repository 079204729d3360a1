import { systemClock } from '../../src/lib/clock.ts';
import { end, Process, room, start } from '../world/truenas-platform/scene.ts';
import { type Figure, median, ms, ratio, timed } from './figure.ts';
import { latencyMs, roomy } from './nas-calls.ts';

const count = 20;

/** Twenty machines at once ÷ one alone: how far they stand in each other's way. */
export async function measureNasRush(): Promise<Figure> {
  await start({ seed: roomy });
  try {
    const process = new Process(systemClock);
    const make = async (name: string): Promise<void> => {
      const verdict = await process.walk('provision', name, { progress: undefined });
      if (verdict.kind !== 'finished') throw new Error(`${name} did not come up`);
    };
    await make('warm-up');
    room.room.setLatency('*', latencyMs);
    const alone: number[] = [];
    for (const name of ['one', 'another', 'last']) alone.push(await timed(() => make(name)));
    const together: number[] = [];
    for (const name of ['rush', 'again', 'third']) {
      const names = Array.from({ length: count }, (_, i) => `${name}-${i}`);
      together.push(await timed(() => Promise.all(names.map(make))));
    }
    const [all, one] = [median(together), median(alone)];
    const what = `${count} machines at once ÷ one alone, each call taking ${latencyMs} ms`;
    return ratio(what, all, one, 1.5, `${ms(all)} ÷ ${ms(one)}, each the median of three`);
  } finally {
    await end();
  }
}
