import { systemClock } from '../../src/lib/clock.ts';
import { moveTo, Process, type Site } from '../world/truenas-platform/scene.ts';
import { Child } from './child.ts';
import { type Figure, median, ms, ratio, timed } from './figure.ts';
import { latencyMs } from './nas-calls.ts';

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

/** On a system that has nothing but the boot image, in a process of its own, as it is. */
async function measureRound(): Promise<{ alone: number; together: number }> {
  const nas = new Child<Site, object>(new URL('./nas-process.ts', import.meta.url), {});
  try {
    moveTo(await nas.ready);
    const process = new Process(systemClock);
    const make = async (name: string): Promise<void> => {
      const verdict = await process.walk('provision', name, { progress: undefined });
      if (verdict.kind !== 'finished') throw new Error(`${name} did not come up`);
    };
    await make('warm-up');
    await nas.ask();
    const alone = await timed(() => make('alone'));
    const names = Array.from({ length: count }, (_, i) => `rush-${i}`);
    const together = await timed(() => Promise.all(names.map(make)));
    await process.kill();
    return { alone, together };
  } finally {
    moveTo(undefined);
    await nas.close();
  }
}
