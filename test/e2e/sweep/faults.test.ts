import { describe, it } from 'vitest';
import { isFull, oneOf, releaseFor, seed } from './draw.ts';
import { quickFaults, silence } from './faults.ts';
import { nasLife as script } from './nas-life.ts';
import { expectSameEndAsAlone } from './trial.ts';

/** Several lives in one process: it may stand still for longer than what a Lease of the usual length has to spare. */
const patient = { hasteOfDeadlines: silence.haste, leaseSeconds: 45 };
const quick = Object.values(quickFaults);
const rounds = Array.from({ length: isFull ? quick.length : 2 }, (_, round) => ({
  name: `one of the other faults, round ${round + 1}`,
  striker: oneOf(quick, round),
  manner: {},
}));
const lives = [{ name: 'half a minute of silence', striker: silence.striker, manner: patient }, ...rounds].map(
  (life, index) => ({ ...life, subnet: `127.42.${110 + index}`, truenas: releaseFor(index) }),
);

describe.concurrent(`each call of a life once (SWEEP=${seed}) with`, () => {
  it.for(lives)(
    '$name, on TrueNAS $truenas: the same end, nothing twice, nothing left',
    {
      timeout: 1_200_000,
    },
    async (life) => {
      const { subnet, truenas, manner, striker } = life;
      await expectSameEndAsAlone({ script, subnet, truenas, manner, striker: () => striker });
    },
  );
});
