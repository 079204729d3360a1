import { randomInt } from 'node:crypto';

/** Parameters of a property, as fast-check takes them. */
interface PropertyParameters {
  readonly seed: number;
  readonly numRuns: number;
  readonly path?: string;
  readonly interruptAfterTimeLimit: number;
}

/**
 * How often a property is tried, and from which seed: a new one each time, told on the screen. `PROPERTY_SEED` repeats a
 * run, with `PROPERTY_PATH` (told by fast-check when a property fails) only its smallest counterexample, and
 * `PROPERTY_RUNS` tries more. It ends before the test would be ended: a counterexample is worth more than the smallest one.
 */
export function propertyParameters(title: string, numRuns: number): PropertyParameters {
  const { PROPERTY_SEED: seed, PROPERTY_PATH: path, PROPERTY_RUNS: runs } = process.env;
  const chosen = seed ? Number(seed) : randomInt(2 ** 31);
  process.stdout.write(` ⚄ ${title}: PROPERTY_SEED=${chosen}\n`);
  const interruptAfterTimeLimit = 100_000;
  return { seed: chosen, numRuns: runs ? Number(runs) : numRuns, interruptAfterTimeLimit, ...(path ? { path } : {}) };
}
