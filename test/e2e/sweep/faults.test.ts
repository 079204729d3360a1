import { describe, it } from 'vitest';
import { isFull, oneOf, partOf, releaseFor, seed } from './draw.ts';
import { quickFaults, silence } from './faults.ts';
import { nasLife as script } from './nas-life.ts';
import { only } from './sweep.ts';
import { expectSameEnd, type Reference, undisturbed } from './trial.ts';

/** Several lives in one process: it may stand still for longer than what a Lease of the usual length has to spare. */
const patient = { hasteOfDeadlines: silence.haste, leaseSeconds: 45 };
/** Each silence is waited for: two lives have half of them each, at the same time. */
const silences = [0, 1].map((half) => ({
  name: `half a minute of silence, at the calls of one half (${half + 1})`,
  striker: silence.striker,
  due: (name: string): boolean => partOf('silence', name, 2) === half,
  manner: patient,
  truenas: releaseFor(0),
}));
const quick = Object.values(quickFaults);
const rounds = Array.from({ length: isFull ? quick.length : 2 }, (_, round) => ({
  name: `one of the other faults, round ${round + 1}`,
  striker: oneOf(quick, round),
  due: () => true,
  manner: {},
  truenas: releaseFor(1 + round),
}));
const lives = [...silences, ...rounds].map((life, index) => ({ ...life, subnet: `127.42.${110 + index}` }));

/** By release. */
const references = new Map<string, Promise<Reference>>();
function referenceOf(truenas: string, subnet: string): Promise<Reference> {
  const reference = references.get(truenas) ?? undisturbed(subnet, script, truenas);
  references.set(truenas, reference);
  return reference;
}

describe.concurrent(`each call of a life once (SWEEP=${seed}) with`, () => {
  it.for(lives)(
    '$name, on TrueNAS $truenas: the same end, nothing twice, nothing left',
    {
      timeout: 1_200_000,
    },
    async ({ striker, due, ...life }) => {
      const reference = await referenceOf(life.truenas, life.subnet);
      await expectSameEnd(reference, { ...life, script, due, striker: () => only(due, striker) });
    },
  );
});
