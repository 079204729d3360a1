import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../e2e/support/eventually.ts';
import type { Stage } from '../e2e/support/stage.ts';
import { outsideWrites, providerWrites, workloadWrites } from '../e2e/support/traces.ts';
import type { Figure } from './figure.ts';

/** How much has been written so far. */
export type Writes = () => number | Promise<number>;

/** Begins to count what the provider writes anywhere in the world. Real API servers do not tell. */
export function writesAt(stage: Stage): () => number {
  const start = stage.calls.length;
  return () => {
    const calls = stage.calls.slice(start);
    return [...providerWrites(calls), ...workloadWrites(calls), ...outsideWrites(calls)].length;
  };
}

/** Until nothing has been written for ten seconds: what was left to say about the things before. */
export async function settle(writes: Writes): Promise<void> {
  const isQuiet = async (): Promise<boolean> => {
    const before = await writes();
    await pause(10_000);
    return (await writes()) === before;
  };
  await eventually('it is at rest', isQuiet, 300);
}

export const nothing = (what: string, writes: number): Figure => ({
  what,
  measured: `${writes}`,
  goal: '0',
  reached: writes === 0,
});
