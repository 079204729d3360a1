import { describe, it } from 'vitest';
import { restrictTo } from './fault-sweep.ts';
import { immediateFaults, silentFault } from './faults.ts';
import { isFullSweep, partIndexOf, rotateInjectors, sweepSeed, trueNasReleaseForRun } from './sampling.ts';
import { expectSameResult, type ReferenceRun, runUndisturbed } from './scenario-run.ts';
import { nasLifecycle as script } from './scenarios/nas-lifecycle.ts';

/** Each silence takes real time: the seed decides which half of the calls has one, and a full sweep has both halves. */
const silences = (isFullSweep ? [0, 1] : [0]).map((half) => ({
  name: `half a minute of silence, at the calls of one half (${half + 1})`,
  striker: silentFault.striker,
  due: (name: string): boolean => partIndexOf('silence', name, 2) === half,
  manner: silentFault.manner,
  truenas: trueNasReleaseForRun(0),
}));
const quick = Object.values(immediateFaults);
const schedule = Array.from({ length: isFullSweep ? quick.length : 1 }, (_, round) => ({
  name: `one of the other faults, round ${round + 1}`,
  striker: rotateInjectors(quick, round),
  due: () => true,
  manner: {},
  truenas: trueNasReleaseForRun(1 + round),
}));
const lives = [...silences, ...schedule].map((life, index) => ({ ...life, subnet: `127.42.${110 + index}` }));

/** By release. */
const references = new Map<string, Promise<ReferenceRun>>();
function referenceOf(truenas: string, subnet: string): Promise<ReferenceRun> {
  const reference = references.get(truenas) ?? runUndisturbed(subnet, script, truenas);
  references.set(truenas, reference);
  return reference;
}

describe.concurrent(`each call of a lifecycle once (SWEEP=${sweepSeed}) with`, () => {
  it.for(lives)(
    '$name, on TrueNAS $truenas: the same result, no duplicates, no remains',
    {
      timeout: 1_200_000,
    },
    async ({ striker, due, ...life }) => {
      const reference = await referenceOf(life.truenas, life.subnet);
      await expectSameResult(reference, { ...life, script, due, striker: () => restrictTo(due, striker) });
    },
  );
});
