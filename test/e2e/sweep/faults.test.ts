import { beforeAll, describe, it } from 'vitest';
import { isFull, oneOf, seed } from './draw.ts';
import { quickFaults, silence } from './faults.ts';
import { nasLife as script } from './nas-life.ts';
import { expectSameEnd, type Reference, undisturbed } from './trial.ts';

/** Several lives in one process: it may stand still for longer than what a Lease of the usual length has to spare. */
const patient = { hasteOfDeadlines: silence.haste, leaseSeconds: 45 };
const quick = Object.values(quickFaults);
const rounds = Array.from({ length: isFull ? quick.length : 2 }, (_, round) => ({
  name: `one of the other faults, round ${round + 1}`,
  striker: oneOf(quick, round),
  manner: {},
}));
const lives = [{ name: 'half a minute of silence', striker: silence.striker, manner: patient }, ...rounds].map(
  (life, index) => ({ ...life, subnet: `127.42.${110 + index}` }),
);

let reference: Reference;
beforeAll(async () => {
  reference = await undisturbed('127.42.110', script);
});

describe.concurrent(`each call of a life once (SWEEP=${seed}) with`, () => {
  it.for(lives)('$name: the same end, nothing twice, nothing left', { timeout: 1_200_000 }, async (life) => {
    const { subnet, manner, striker } = life;
    await expectSameEnd(reference, { script, subnet, manner, striker: () => striker });
  });
});
