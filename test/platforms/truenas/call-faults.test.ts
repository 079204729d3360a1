import { describe, expect, it } from 'vitest';
import { immediateFaults, silentFault } from '../../e2e/fault-sweep/faults.ts';
import { isFullSweep, rotateInjectors, sweepSeed } from '../../e2e/fault-sweep/sampling.ts';
import { KillableContext } from '../../e2e/support/provider-process/killable-context.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import { type BaselineRun, markJoined, recordBaselineRun, testedReleases } from './baseline-run.ts';
import {
  dumpNas,
  type MachineRecord,
  nasFixture,
  stateSummary,
  TrueNasProviderProcess,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

/** One call of a lifecycle. */
interface FaultedCall {
  readonly plan: 'provision' | 'release';
  readonly name: string;
  /** The number of earlier calls of that name. */
  readonly nth: number;
}

const targetsOf = (rehearsal: BaselineRun): readonly FaultedCall[] =>
  (['provision', 'release'] as const).flatMap((plan) =>
    rehearsal[plan].map((name, index, all) => ({
      ...{ plan, name },
      nth: all.slice(0, index).filter((one) => one === name).length,
    })),
  );

const describeFaultedCall = ({ plan, name, nth }: FaultedCall) => `truenas ${name}, number ${nth} of ${plan}`;

const faultKinds = [...Object.values(immediateFaults), silentFault.striker];
const faultOf = (target: FaultedCall, round: number): Fault | undefined =>
  rotateInjectors(faultKinds, round).strike(
    { simulator: 'truenas', name: target.name, at: new Date() },
    describeFaultedCall(target),
  );

/** Injects the fault into that call, once. Returns a function that tells whether the call came. */
function injectFaultAt({ name, nth }: FaultedCall, fault: Fault): () => boolean {
  let seen = 0;
  const hush = nasFixture.switchboard.judge((call) => {
    if (call.simulator !== 'truenas' || call.name !== name) return undefined;
    seen += 1;
    return seen === nth + 1 ? fault : undefined;
  });
  return () => {
    hush();
    return seen > nth;
  };
}

/** Runs a lifecycle with a fault in one call. */
async function runLife(target: FaultedCall, fault: Fault, { made, empty }: BaselineRun, where: string): Promise<void> {
  const durable: MachineRecord = { progress: undefined };
  const walk = async (plan: FaultedCall['plan']) => {
    const process = new TrueNasProviderProcess();
    const wasStruck = plan === target.plan ? injectFaultAt(target, fault) : () => true;
    expect(await process.walk(plan, 'shop-cp-0', durable), where).toMatchObject({ kind: 'finished' });
    expect(wasStruck(), where).toBe(true);
    await process.kill();
  };
  // A silence is longer than any timeout.
  await new KillableContext(fault.kind === 'silence' ? silentFault.manner.hasteOfDeadlines : 1).live(async () => {
    await walk('provision');
    expect(toJsonText(stateSummary()), where).toBe(made);
    markJoined(durable);
    await walk('release');
    expect(toJsonText(dumpNas()), where).toBe(empty);
  });
}

describe.each(testedReleases.map((version, round) => ({ version, round })))(
  `on TrueNAS $version (SWEEP=${sweepSeed})`,
  ({ version, round }) => {
    it('S52: a random fault in any call leads to the same result: no duplicates, no remains', async () => {
      const rehearsal = await recordBaselineRun(version, { joins: true });
      for (const target of targetsOf(rehearsal)) {
        for (const way of isFullSweep ? faultKinds.keys() : [round]) {
          const fault = faultOf(target, way);
          if (fault)
            await runLife(target, fault, rehearsal, `${JSON.stringify(fault)} at ${describeFaultedCall(target)}`);
        }
      }
    }, 600_000);
  },
);
