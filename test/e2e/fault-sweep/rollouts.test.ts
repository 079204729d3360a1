import { describe, expect, it } from 'vitest';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type FaultInjector, restrictTo } from './fault-sweep.ts';
import { immediateFaults, silentFaultAt } from './faults.ts';
import { KillInjector } from './kill-injector.ts';
import { isFullSweep, isSampled, rotateInjectors, sweepSeed } from './sampling.ts';
import { expectSameResult, type ReferenceRun, runUndisturbed } from './scenario-run.ts';
import {
  isRemediationCall,
  isRemediationEffect,
  isRotationEffect,
  isUpdateCall,
  isUpdateEffect,
} from './scenarios/update-call-naming.ts';
import { updateRolloutScenario } from './scenarios/update-rollout.ts';

/** Except in a full sweep longer than the scenario waits for a phase, so that its failure tells where it is. */
const timeout = isFullSweep ? 3_600_000 : 2_400_000;

const allActs = ['live', 'restart', 'os', 'kubernetes'] as const;

/** `share`: one in so many calls gets a fault, unless it is a full sweep. */
const rollouts = [
  { controlPlanes: 3, acts: ['os'], cordoned: 'cp-1', subnet: '127.42.230', share: 12 },
  { controlPlanes: 1, acts: ['live', 'restart', 'kubernetes'], cordoned: 'work-0', subnet: '127.42.231', share: 12 },
] as const;

describe('a provider that is killed after a call of a remediation and before its reply', () => {
  const script = updateRolloutScenario({ controlPlanes: 1, acts: ['remediation'], cordoned: 'cp-0' });
  const isDue = (name: string): boolean => isRemediationCall(name) && isSampled('remediation', name, 3);
  const striker = (testbed: Testbed): FaultInjector => restrictTo(isDue, new KillInjector(testbed));

  it(`the node is restarted once, and nothing else (SWEEP=${sweepSeed})`, { timeout }, async () => {
    const subnet = '127.42.245';
    const reference = await runUndisturbed(subnet, script);
    const due = (name: string): boolean => isDue(name) && isRemediationEffect(name);
    expect(await expectSameResult(reference, { subnet, script, striker, due })).toBeGreaterThan(2);
  });
});

describe('a provider that is killed after a call of a rotation and before its reply', () => {
  const acts = ['talosCa', 'kubernetesCa'] as const;
  const script = updateRolloutScenario({ controlPlanes: 1, acts, cordoned: 'work-0' });
  const isDue = (name: string): boolean =>
    isUpdateCall(name) && (/PATCH \S+\/secrets\//.test(name) || isSampled('rotation', name, 6));
  const striker = (testbed: Testbed): FaultInjector => restrictTo(isDue, new KillInjector(testbed));

  it(`the same result, and never a third authority (SWEEP=${sweepSeed})`, { timeout }, async () => {
    const subnet = '127.42.250';
    const reference = await runUndisturbed(subnet, script);
    expect(reference.shape['kubernetesCa']).toMatchObject({ authorities: [2, 2] });
    const due = (name: string): boolean => isDue(name) && isRotationEffect(name);
    // Four writes of the Secret for each rotation.
    expect(await expectSameResult(reference, { subnet, script, striker, due })).toBeGreaterThan(8);
  });
});

describe.concurrent.each(rollouts)(
  'a provider that is killed after a call of a rollout and before its reply: $acts, control planes: $controlPlanes',
  ({ subnet, share, cordoned, ...some }) => {
    const acts = isFullSweep ? allActs : some.acts;
    const script = updateRolloutScenario({ ...some, acts, cordoned });
    const isDue = (name: string): boolean => isUpdateCall(name) && isSampled('rollout', name, share);
    const striker = (testbed: Testbed): FaultInjector => restrictTo(isDue, new KillInjector(testbed));

    it(`the same result, one node away at most, and a foreign cordon stays (SWEEP=${sweepSeed})`, {
      timeout,
    }, async () => {
      const reference = await runUndisturbed(subnet, script);
      const due = (name: string): boolean => isDue(name) && isUpdateEffect(name);
      const struck = await expectSameResult(reference, { subnet, script, striker, due });
      expect(struck).toBeGreaterThan(4 * acts.length);
    });
  },
);

/** In a full sweep every call gets every fault. */
const quick = Object.values(immediateFaults);
const quickRounds = Array.from({ length: isFullSweep ? quick.length : 1 }, (_, round) => ({
  name: `cut off or answered by an error, round ${round + 1}`,
  striker: rotateInjectors(quick, round),
  manner: {},
  share: 1,
  subnet: `127.43.${64 + round}`,
}));
/** A silence takes real time. */
const silences = {
  name: 'half a minute of silence',
  ...silentFaultAt(15),
  share: 4,
  subnet: '127.43.73',
};

describe.concurrent('a rollout on three control planes whose calls fail once each:', () => {
  const acts = isFullSweep ? allActs : (['os'] as const);
  const script = updateRolloutScenario({ controlPlanes: 3, acts, cordoned: 'cp-1' });
  let reference: Promise<ReferenceRun> | undefined;

  it.for([...quickRounds, silences])(
    `$name: the same result, one node away at most, and a foreign cordon stays (SWEEP=${sweepSeed})`,
    { timeout },
    async ({ subnet, striker: faults, manner, share }) => {
      const isDue = (name: string): boolean => isUpdateCall(name) && isSampled('rollout faults', name, share);
      const due = (name: string): boolean => isDue(name) && isUpdateEffect(name);
      reference ??= runUndisturbed(subnet, script);
      const striker = (): FaultInjector => restrictTo(isDue, faults);
      const struck = await expectSameResult(await reference, { subnet, script, striker, due, manner });
      expect(struck).toBeGreaterThan(4 * acts.length);
    },
  );
});
