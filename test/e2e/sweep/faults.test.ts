import { beforeAll, describe, it } from 'vitest';
import { haste, quickFaults, silences } from './faults.ts';
import { type Reference, strikeEach, undisturbed } from './trial.ts';

let reference: Reference;
beforeAll(async () => {
  reference = await undisturbed('127.42.110');
});

const lives = [
  ...Object.entries(silences).map(([name, striker]) => ({ name, striker, manner: { hasteOfDeadlines: haste } })),
  ...Object.entries(quickFaults).map(([name, striker]) => ({ name, striker, manner: {} })),
].map((life, index) => ({ ...life, subnet: `127.42.${111 + index}` }));

describe.concurrent('each call of a life once with', () => {
  it.for(lives)('$name: the same end, nothing twice, nothing left', { timeout: 300_000 }, async (life, { expect }) => {
    const { subnet, manner, striker } = life;
    const due = (name: string): boolean => striker.strike({ room: '', name, at: new Date() }, name) !== undefined;
    const verdict = await strikeEach(reference, { subnet, manner, striker: () => striker, due });
    expect(verdict.shape, verdict.story).toEqual(reference.shape);
    expect(verdict.missed).toEqual([]);
    expect(verdict.offences).toEqual([]);
  });
});
