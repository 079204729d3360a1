import { systemClock } from '../../src/lib/clock.ts';
import { end, Process, room, start } from '../world/truenas-platform/scene.ts';
import { type Figure, median, ms, ratio, timed } from './figure.ts';
import { latencyMs, roomy } from './nas-calls.ts';

const count = 20;
const rounds = 3;

/** Twenty machines at once ÷ one alone: how far they stand in each other's way. */
export async function measureNasRush(): Promise<Figure> {
  const taken: { readonly alone: number; readonly together: number }[] = [];
  while (taken.length < rounds) taken.push(await measureRound());
  const [one, all] = [median(taken.map(({ alone }) => alone)), median(taken.map(({ together }) => together))];
  const what = `${count} machines at once ÷ one alone, each call taking ${latencyMs} ms`;
  return ratio(what, all, one, 1.5, `${ms(all)} ÷ ${ms(one)}, each the median of ${rounds}`);
}

/** On a system that has nothing but the boot image. */
async function measureRound(): Promise<{ alone: number; together: number }> {
  await start({ seed: roomy });
  try {
    const process = new Process(systemClock);
    const make = async (name: string): Promise<void> => {
      const verdict = await process.walk('provision', name, { progress: undefined });
      if (verdict.kind !== 'finished') throw new Error(`${name} did not come up`);
    };
    await make('warm-up');
    room.room.setLatency('*', latencyMs);
    const alone = await timed(() => make('alone'));
    const names = Array.from({ length: count }, (_, i) => `rush-${i}`);
    return { alone, together: await timed(() => Promise.all(names.map(make))) };
  } finally {
    await end();
  }
}
