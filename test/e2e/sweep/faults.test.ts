import { beforeAll, describe, it } from 'vitest';
import { quickFaults, silence } from './faults.ts';
import { type Reference, strikeEach, undisturbed } from './trial.ts';

const lives = [
  { name: 'half a minute of silence', striker: silence.striker, manner: { hasteOfDeadlines: silence.haste } },
  ...Object.entries(quickFaults).map(([name, striker]) => ({ name, striker, manner: {} })),
].map((life, index) => ({ ...life, subnet: `127.42.${110 + index}` }));

let reference: Reference;
beforeAll(async () => {
  reference = await undisturbed('127.42.110');
});

describe.concurrent('each call of a life once with', () => {
  it.for(lives)(
    '$name: the same end, nothing twice, nothing left',
    { timeout: 1_200_000 },
    async (life, { expect }) => {
      const { subnet, manner, striker } = life;
      const verdict = await strikeEach(reference, { subnet, manner, striker: () => striker });
      expect(verdict.shape, verdict.story).toEqual(reference.shape);
      expect(verdict.missed).toEqual([]);
      expect(verdict.offences).toEqual([]);
    },
  );
});
