import { commitSeed } from '../commit-seed.ts';

/** Parameters of a property, in the format of fast-check. */
interface PropertyParameters {
  readonly seed: number;
  readonly numRuns: number;
  readonly path?: string;
  readonly interruptAfterTimeLimit: number;
}

const { PROPERTY_SEED: seed, PROPERTY_PATH: path, PROPERTY_RUNS: runs } = process.env;

/** Of all generated values: that of the commit, or `PROPERTY_SEED`. */
export const propertySeed = seed ? Number(seed) : commitSeed;

/**
 * The number of runs of a property, and its seed, which is printed. `PROPERTY_SEED` repeats a run, with `PROPERTY_PATH`
 * (printed by fast-check when a property fails) only its smallest counterexample, and `PROPERTY_RUNS` changes the number
 * of runs. The property ends before the test's timeout: any counterexample is more useful than no result while
 * fast-check searches for the smallest one.
 */
export function propertyParameters(title: string, numRuns: number): PropertyParameters {
  process.stdout.write(` ⚄ ${title}: PROPERTY_SEED=${propertySeed}\n`);
  const interruptAfterTimeLimit = 100_000;
  return {
    seed: propertySeed,
    numRuns: runs ? Number(runs) : numRuns,
    interruptAfterTimeLimit,
    ...(path ? { path } : {}),
  };
}
