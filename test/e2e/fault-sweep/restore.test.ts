import { expect, it } from 'vitest';
import { missingPeers } from '../../peers/find-peer.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type FaultInjector, restrictTo } from './fault-sweep.ts';
import { KillInjector } from './kill-injector.ts';
import { isSampled, sweepSeed } from './sampling.ts';
import { expectSameResult, runUndisturbed } from './scenario-run.ts';
import { restoreScenario as script } from './scenarios/restore.ts';
import { isRestoreCall, isRestoreEffect } from './scenarios/restore-call-naming.ts';

describeUnlessMissing(
  'D54: a provider that is killed after a call of a restore and before its reply',
  missingPeers('versitygw'),
  () => {
    const isDue = (name: string): boolean =>
      isRestoreEffect(name) || (isRestoreCall(name) && isSampled('restore', name, 3));
    const striker = (testbed: Testbed): FaultInjector => restrictTo(isDue, new KillInjector(testbed));

    it(`the same cluster, and each control plane is wiped once (SWEEP=${sweepSeed})`, {
      timeout: 900_000,
    }, async () => {
      const subnet = '127.42.247';
      const reference = await runUndisturbed(subnet, script);
      const struck = await expectSameResult(reference, { subnet, script, striker, due: isRestoreEffect });
      expect(struck).toBeGreaterThan(8);
    });
  },
);
