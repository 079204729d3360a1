import { describe, expect, it } from 'vitest';
import type { Testbed } from '../support/testbed/testbed.ts';
import { type FaultInjector, restrictTo } from './fault-sweep.ts';
import { KillInjector } from './kill-injector.ts';
import { isFullSweep, isSampled, sweepSeed } from './sampling.ts';
import { expectSameResult, type ReferenceRun, runUndisturbed } from './scenario-run.ts';
import { isRolloutCall, trustRolloutScenario } from './scenarios/trust-rollout.ts';
import { StopInjector } from './stop-injector.ts';

/** Permanent changes: on the nodes, and in the records of these changes. */
const changes = /ApplyConfiguration|PATCH \S+\/(secrets\/|machines\/\S+\/status)/;

/** Each has two subnets, one for each of its runs, on the same release of TrueNAS. */
const rolls = [
  {
    about: 'one control plane with Talos 1.14, two issuers at once',
    subnets: ['127.42.160', '127.42.184'],
    talosVersion: '1.14.0',
    acts: ['ask for first', 'ask for second', 'withdraw first'],
  },
  {
    about: 'one control plane with Talos 1.13, one issuer',
    subnets: ['127.42.161', '127.42.182'],
    talosVersion: '1.13.9',
    acts: ['ask for first', 'withdraw first'],
  },
] as const;

/** Faults only in calls that belong to a phase: other tests kill the provider at its start. */
const killedAt =
  (due: (name: string) => boolean) =>
  (testbed: Testbed): FaultInjector =>
    restrictTo(due, new KillInjector(testbed));
const stoppedAt =
  (due: (name: string) => boolean) =>
  (testbed: Testbed): FaultInjector =>
    restrictTo(due, new StopInjector(testbed));

const patience = { timeout: 600_000 };

describe.concurrent.each(rolls)(
  'trust that is granted and withdrawn, $about',
  ({ subnets: [subnet, other], talosVersion, acts }) => {
    const script = trustRolloutScenario({ talosVersion, acts, controlPlanes: 1 });
    /** One in two calls gets a fault, unless it is a full sweep. */
    const isDue = (way: string) => (name: string) => isRolloutCall(name) && isSampled(way, name, 2);
    const fewest = (isFullSweep ? 18 : 6) * acts.length;
    let alone: Promise<ReferenceRun> | undefined;
    const reference = (): Promise<ReferenceRun> => {
      alone ??= runUndisturbed(subnet, script);
      return alone;
    };

    it(
      `has the same result with a provider that is killed at calls, without repeated changes (SWEEP=${sweepSeed})`,
      patience,
      async () => {
        const due = isDue('kill');
        const options = { subnet, script, due, striker: killedAt(due) };
        expect(await expectSameResult(await reference(), options)).toBeGreaterThan(fewest);
      },
    );

    // The results for one issuer hold for two; `SWEEP=full` tests two as well.
    if (acts.length === 2 || isFullSweep)
      it(
        `has the same result with a provider that is stopped in order at calls (SWEEP=${sweepSeed})`,
        patience,
        async () => {
          const due = isDue('stop');
          const options = { subnet: other, script, due, striker: stoppedAt(due) };
          expect(await expectSameResult(await reference(), options)).toBeGreaterThan(fewest);
        },
      );
  },
);

/** Runs alone, so that the monitor of nodes that are away polls as often as possible. */
describe('trust that is granted and withdrawn, three control planes', () => {
  const script = trustRolloutScenario({
    talosVersion: '1.14.0',
    controlPlanes: 3,
    acts: ['ask for first', 'withdraw first'],
  });
  const due = (name: string): boolean => changes.test(name) && isRolloutCall(name);
  const subnet = '127.42.162';

  it(
    'has the same result with a provider that is killed at each change, and never are two of them away',
    patience,
    async () => {
      const reference = await runUndisturbed(subnet, script);
      const struck = await expectSameResult(reference, { subnet, script, due, striker: killedAt(due) });
      // Each node gets one update in each phase, and the holder of the shared address one more.
      expect(struck).toBeGreaterThan(2 * (3 + 1));
    },
  );
});
