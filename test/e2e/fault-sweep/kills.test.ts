import { existsSync } from 'node:fs';
import { describe, it } from 'vitest';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type FaultInjector, restrictTo } from './fault-sweep.ts';
import { KillInjector } from './kill-injector.ts';
import { isFullSweep, isSampled, sweepSeed, trueNasReleaseForRun } from './sampling.ts';
import { childProcessMode, expectSameResultAsUndisturbed } from './scenario-run.ts';
import { nasLifecycle as script } from './scenarios/nas-lifecycle.ts';
import { StopInjector } from './stop-injector.ts';

const [first, second, third] = [trueNasReleaseForRun(0), trueNasReleaseForRun(1), trueNasReleaseForRun(2)] as const;

/**
 * Calls where a death between the work and its reply could do the most harm: each creates, starts or deletes something
 * permanently.
 */
const worst: readonly RegExp[] = [
  /^kube POST \S+\/leases for a leader/,
  /^kube POST \S+\/secrets$/,
  /^truenas vm\.create /,
  /^truenas POST \/_upload /,
  /^talos \S+\/Bootstrap /,
  /^workload POST \S+\/token \(renew\)/,
  /^truenas vm\.delete 1/,
  /^kube DELETE \S+\/leases\//,
];

describe.concurrent('a provider that is killed after the execution of a call and before its reply, and started again', () => {
  it(`at calls of a lifecycle, on TrueNAS ${first}: the same result, no duplicates, no remains (SWEEP=${sweepSeed})`, {
    timeout: 1_200_000,
  }, async () => {
    const due = (name: string): boolean => isSampled('kill', name, 2);
    const striker = (testbed: Testbed): FaultInjector => restrictTo(due, new KillInjector(testbed));
    await expectSameResultAsUndisturbed({ script, subnet: '127.42.117', truenas: first, striker, due });
  });

  const calls = isFullSweep ? [/./] : worst;
  it.skipIf(!existsSync('dist/main.js'))(
    `as a process of its own, with SIGKILL, and a Lease that expires, on TrueNAS ${second}`,
    { timeout: calls === worst ? 1_200_000 : 3_600_000 },
    async () => {
      const due = (name: string): boolean => calls.some((call) => call.test(name));
      const striker = (testbed: Testbed): FaultInjector =>
        restrictTo(due, new KillInjector(testbed, { patient: true }));
      await expectSameResultAsUndisturbed({
        script,
        subnet: '127.42.119',
        truenas: second,
        manner: childProcessMode,
        striker,
        due,
      });
    },
  );

  it(`or is stopped in order during a call, on TrueNAS ${third} (SWEEP=${sweepSeed})`, {
    timeout: 1_200_000,
  }, async () => {
    const due = (name: string): boolean => isSampled('stop', name, 4);
    const striker = (testbed: Testbed): FaultInjector => restrictTo(due, new StopInjector(testbed));
    await expectSameResultAsUndisturbed({ script, subnet: '127.42.118', truenas: third, striker, due });
  });
});
