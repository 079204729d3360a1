import { randomInt } from 'node:crypto';

/**
 * How often a property is tried, and from which seed: a new one each time, told on the screen. `PROPERTY_SEED` repeats a
 * run, with `PROPERTY_PATH` (told by fast-check when a property fails) only its smallest counterexample, and
 * `PROPERTY_RUNS` tries more.
 */
export function trials(title: string, numRuns: number): { seed: number; numRuns: number; path?: string } {
  const { PROPERTY_SEED: seed, PROPERTY_PATH: path, PROPERTY_RUNS: runs } = process.env;
  const chosen = seed ? Number(seed) : randomInt(2 ** 31);
  process.stdout.write(` ⚄ ${title}: PROPERTY_SEED=${chosen}\n`);
  return { seed: chosen, numRuns: runs ? Number(runs) : numRuns, ...(path ? { path } : {}) };
}
