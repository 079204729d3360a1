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
    for (const name of ['first', 'second', 'third']) alone.push(await timed(() => make(name)));
    const all = await timed(() => Promise.all(Array.from({ length: count }, (_, i) => make(`rush-${i}`))));
    const what = `${count} machines at once ÷ one alone, each call taking ${latencyMs} ms`;
    return ratio(what, all, median(alone), 1.5, `${ms(all)} ÷ ${ms(median(alone))}`);
  } finally {
    await end();
  }
}
