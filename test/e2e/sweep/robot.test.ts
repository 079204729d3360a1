import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Stage } from '../support/stage.ts';
import { isDrawn, isFull, oneOf, seed } from './draw.ts';
import { quickFaults } from './faults.ts';
import { Reaper } from './reaper.ts';
import { aWhileLater as between, robotLife as script } from './robot-life.ts';
import { Stopper } from './stopper.ts';
import { only, type Striker } from './sweep.ts';
import { asProgram, expectSameEnd, type Reference, undisturbed } from './trial.ts';

const { drop, lost, broken } = quickFaults;
/** A reset that Robot never hears of shows when three minutes are over: `trouble.test.ts` has the clock for that. */
const dropped: Striker = {
  strike: (_call, name) => (name.startsWith('robot POST /reset/') ? lost.strike() : drop.strike()),
};
const quick: readonly Striker[] = [dropped, lost, broken];

interface Way {
  readonly name: string;
  /** One of so many calls is struck. */
  readonly share: number;
  readonly about: string;
  readonly striker: (stage: Stage) => Striker;
}

const ways: readonly Way[] = [
  {
    name: 'kill',
    share: 4,
    about: 'a provider that is killed when it was carried out and not yet answered',
    striker: (stage) => new Reaper(stage, { between }),
  },
  {
    name: 'stop',
    share: 4,
    about: 'a provider that is stopped in order meanwhile',
    striker: (stage) => new Stopper(stage, between),
  },
  ...Array.from({ length: isFull ? quick.length : 1 }, (_, round) => ({
    ...{ name: `fault ${round}`, share: 1 },
    about: `a drop, a lost reply or a 5xx, round ${round + 1}`,
    striker: () => oneOf(quick, round),
  })),
];

/** Where a death between the work and its answer could do the most harm to a server, or leave it to nobody. */
const worst: readonly RegExp[] = [
  /^kube PATCH \S+\/hosts\/\S+ Claimed$/,
  /^robot POST \/server\/\{n\} \(cp-0 server-marked\)/,
  /^robot POST \/boot\/\{n\}\/rescue \(cp-0 rescue-armed\)/,
  /^robot POST \/reset\/\{n\} \(cp-0 server-reset\)/,
  /^robot ssh wipe \(cp-0 disks-wiped\)/,
  /^robot ssh write \(cp-0 image-written\)/,
  /^robot (GET|DELETE) \/boot\/\S+ \(cp-0 rescue-disarmed\)/,
  /^talos \S+\/Reboot$/,
  /^robot ssh wipe \(cp-0 leftovers-wiped\)/,
  /^robot POST \/server\/\{n\} \(cp-0 name-restored\)/,
  /^kube PATCH \S+\/hosts\/\S+ Available again$/,
];

let reference: Reference;
beforeAll(async () => {
  reference = await undisturbed('127.42.171', script);
});

describe.concurrent(`calls (SWEEP=${seed}) of a life from a free Host to a ready Cluster and back, each once with`, () => {
  it.for(ways.map((way, index) => ({ ...way, subnet: `127.42.${172 + index}` })))(
    '$about: the same end, nothing twice, no other disk',
    { timeout: 1_200_000 },
    async ({ name: way, share, striker, subnet }) => {
      const due = (name: string): boolean => isDrawn(way, name, share);
      const options = { script, subnet, due, striker: (stage: Stage) => only(due, striker(stage)) };
      await expectSameEnd(reference, options);
    },
  );

  it.skipIf(!existsSync('dist/main.js'))(
    'SIGKILL for the program, its Lease left to run out, where it could do the most harm',
    { timeout: 1_200_000 },
    async () => {
      expect(worst.filter((call) => ![...reference.seen].some((name) => call.test(name)))).toEqual([]);
      const due = (name: string): boolean => worst.some((call) => call.test(name));
      const striker = (stage: Stage): Striker => only(due, new Reaper(stage, { patient: true, between }));
      await expectSameEnd(reference, { script, subnet: '127.42.180', manner: asProgram, striker, due });
    },
  );
});
