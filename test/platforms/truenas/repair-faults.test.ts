import { describe, expect, it } from 'vitest';
import { immediateFaults } from '../../e2e/fault-sweep/faults.ts';
import { isFullSweep, rotateInjectors, sweepSeed } from '../../e2e/fault-sweep/sampling.ts';
import type { Fault, InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { testedReleases } from './baseline-run.ts';
import { MemberFixture, provisionMember } from './member-fixture.ts';
import {
  nasFixture,
  startTrueNasPlatformFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
  vmOf,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

const nameOf = () => String(vmOf('shop-cp-0')!.row['name']);
const losses: [string, string, () => unknown][] = [
  ['a card', 'DeviceMissing', () => nasFixture.simulator.loseDevice(nameOf(), ({ dtype }) => dtype === 'NIC')],
  ['all but the disk', 'VmGone', () => nasFixture.simulator.loseVm(nameOf())],
];

/** Excludes calls that depend on time. */
const isCounted = ({ simulator: where, name }: InterceptedCall) =>
  where === 'truenas' && !/^core\.(ping|get_jobs)$/.test(name);

/** Affects the call of that number from now on, and no other. Returns how to stop. */
function faultAtCall(nth: number, befall: (call: InterceptedCall) => Fault | undefined): () => void {
  let seen = 0;
  return nasFixture.switchboard.judge((call) => (isCounted(call) && seen++ === nth ? befall(call) : undefined));
}

describe.each(testedReleases.map((version, round) => ({ version, round })))(
  `on TrueNAS $version (SWEEP=${sweepSeed})`,
  ({ version, round }) => {
    /** Each call is on one of the three releases. */
    const drawn = (names: readonly string[]) =>
      names
        .map((name, at) => ({ name, at }))
        .filter(({ at }) => isFullSweep || (at + sweepSeed + round) % testedReleases.length === 0);

    /** A member that has been repaired once from this loss, and the calls of the repair. */
    async function rehearse(repair: string, lose: () => unknown) {
      await startTrueNasPlatformFixture({ version });
      const kept = new MemberFixture(await provisionMember());
      const once = async () => {
        await lose();
        kept.wish({ approve: repair });
        expect(await kept.rest()).toMatchObject({ reasons: [] });
      };
      await once();
      const made = toJsonText(stateSummary());
      kept.process = new TrueNasProviderProcess();
      const calls: string[] = [];
      const hush = nasFixture.switchboard.onCall((call) => void (isCounted(call) && calls.push(call.name)));
      await once();
      hush();
      expect(toJsonText(stateSummary())).toBe(made);
      return { kept, made, calls };
    }

    it.each(losses)(
      'T42, S29: killed at a call while %s is restored, it has the same result',
      async (_, repair, lose) => {
        const { kept, made, calls } = await rehearse(repair, lose);
        for (const { name, at } of drawn(calls)) {
          await lose();
          kept.wish({ approve: repair });
          kept.process = new TrueNasProviderProcess();
          const dying = kept.process;
          const hush = faultAtCall(at, () => {
            void dying.kill();
            return undefined;
          });
          await kept.rest().catch((error: unknown) => {
            if (!dying.stop.signal.aborted) throw error;
          });
          hush();
          kept.process = new TrueNasProviderProcess();
          const where = `killed at call ${at} (${name})`;
          expect(await kept.rest(), where).toMatchObject({ reasons: [] });
          expect(toJsonText(stateSummary()), where).toBe(made);
          expect(vmOf('shop-cp-0')?.guest, where).toBeDefined();
        }
      },
      180_000,
    );

    it.each(losses)(
      'T42, S52: with a fault in a call while %s is restored, it has the same result',
      async (_, repair, lose) => {
        const { kept, made, calls } = await rehearse(repair, lose);
        for (const { name, at } of drawn(calls)) {
          await lose();
          kept.wish({ approve: repair });
          kept.process = new TrueNasProviderProcess();
          const words = `truenas ${name}, number ${at} of ${repair}`;
          const hush = faultAtCall(at, (call) =>
            rotateInjectors(Object.values(immediateFaults), round).strike(call, words),
          );
          expect(await kept.rest(), words).toMatchObject({ reasons: [] });
          hush();
          expect(toJsonText(stateSummary()), words).toBe(made);
          expect(vmOf('shop-cp-0')?.guest, words).toBeDefined();
        }
      },
      180_000,
    );
  },
);
