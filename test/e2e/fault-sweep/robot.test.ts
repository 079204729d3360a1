import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type FaultInjector, restrictTo } from './fault-sweep.ts';
import { immediateFaults } from './faults.ts';
import { KillInjector } from './kill-injector.ts';
import { isFullSweep, isSampled, rotateInjectors, sweepSeed } from './sampling.ts';
import { childProcessMode, expectSameResult, type ReferenceRun, runUndisturbed } from './scenario-run.ts';
import { backdateMachineFacts as between, robotLifecycle as script } from './scenarios/robot-lifecycle.ts';
import { StopInjector } from './stop-injector.ts';

const { drop, lost, broken } = immediateFaults;
/** A reset call that is lost is detected after three minutes: `server-faults.test.ts` has the clock for that. */
const dropped: FaultInjector = {
  strike: (_call, name) => (name.startsWith('robot POST /reset/') ? lost.strike() : drop.strike()),
};
const quick: readonly FaultInjector[] = [dropped, lost, broken];

interface Way {
  readonly name: string;
  /** One in so many calls gets a fault. */
  readonly share: number;
  readonly about: string;
  readonly striker: (testbed: Testbed) => FaultInjector;
}

const ways: readonly Way[] = [
  {
    name: 'kill',
    share: 4,
    about: 'a provider that is killed after its execution and before its reply',
    striker: (testbed) => new KillInjector(testbed, { between }),
  },
  {
    name: 'stop',
    share: 4,
    about: 'a provider that is stopped in order during it',
    striker: (testbed) => new StopInjector(testbed, between),
  },
  ...Array.from({ length: isFullSweep ? quick.length : 1 }, (_, round) => ({
    ...{ name: `fault ${round}`, share: 1 },
    about: `a drop, a lost reply or a 5xx, round ${round + 1}`,
    striker: () => rotateInjectors(quick, round),
  })),
];

/**
 * Calls where a death between the work and its reply could do the most harm to a server, or leave it without an owner.
 */
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

let reference: ReferenceRun;
beforeAll(async () => {
  reference = await runUndisturbed('127.42.171', script);
});

describe.concurrent(`calls (SWEEP=${sweepSeed}) of a lifecycle from a free Host to a ready Cluster and back, each once with`, () => {
  it.for(ways.map((way, index) => ({ ...way, subnet: `127.42.${172 + index}` })))(
    '$about: the same result, no duplicates, no other disk',
    { timeout: 1_200_000 },
    async ({ name: way, share, striker, subnet }) => {
      const due = (name: string): boolean => isSampled(way, name, share);
      const options = { script, subnet, due, striker: (testbed: Testbed) => restrictTo(due, striker(testbed)) };
      await expectSameResult(reference, options);
    },
  );

  it.skipIf(!existsSync('dist/main.js'))(
    'SIGKILL for the program, with a Lease that expires, where it could do the most harm',
    { timeout: 1_200_000 },
    async () => {
      expect(worst.filter((call) => ![...reference.seen].some((name) => call.test(name)))).toEqual([]);
      const due = (name: string): boolean => worst.some((call) => call.test(name));
      const striker = (testbed: Testbed): FaultInjector =>
        restrictTo(due, new KillInjector(testbed, { patient: true, between }));
      await expectSameResult(reference, { script, subnet: '127.42.180', manner: childProcessMode, striker, due });
    },
  );
});
