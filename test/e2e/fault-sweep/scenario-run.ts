import { expect } from 'vitest';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { providerCalls } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import type { ProviderRunMode } from '../support/provider-process/provider.ts';
import { Testbed } from '../support/testbed/testbed.ts';
import type { CallNaming } from './call-naming.ts';
import { type FaultInjector, FaultSweep } from './fault-sweep.ts';
import { differingKeys, type StateSnapshot } from './state-snapshot.ts';

/** The result of a run without faults. */
export interface ReferenceRun {
  readonly shape: StateSnapshot;
  readonly seen: ReadonlySet<string>;
  /** Of the provider, at the platform's API server. */
  readonly calls: readonly InterceptedCall[];
}

/** A scenario: the lifecycle of a Cluster, or a part of one. Returns snapshots of the end, or of its phases. */
export interface Scenario {
  play(testbed: Testbed, sweep: FaultSweep, expected?: StateSnapshot): Promise<StateSnapshot>;
  readonly naming: () => CallNaming;
  /** Of the simulators; default: their own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
}

interface ScenarioOptions {
  readonly subnet: string;
  /** Its release; default: that of a testbed there. */
  readonly truenas?: string;
  readonly script: Scenario;
  readonly manner?: ProviderRunMode;
  readonly striker?: (testbed: Testbed) => FaultInjector;
}

/** With the usual Lease a renewal comes soon. */
const defaultMode: ProviderRunMode = { leaseSeconds: 15, isRevived: true };

/**
 * The built program. Its Lease lasts five real seconds, with three for a renewal: on a busy machine it may be lost, and the
 * program is started again as by a kubelet.
 */
export const childProcessMode: ProviderRunMode = { asProgram: { speed: 3 } };

/** What a program logs before it ends because its Lease is lost. */
const lostLease = /"message":"leadership is lost"|The Lease was lost/;

interface ScenarioRun extends ReferenceRun {
  readonly sweep: FaultSweep;
  /** Forbidden log lines of the provider: faults of its own, and secrets. */
  readonly offences: readonly string[];
}

/** One run on a testbed of its own. */
async function runScenario(options: ScenarioOptions, expected?: StateSnapshot): Promise<ScenarioRun> {
  const { subnet, truenas, manner, striker: strikerFor, script } = options;
  const provider = { ...defaultMode, ...manner };
  const seeds = script.seeds?.(subnet) ?? {};
  const testbed = await Testbed.open({
    subnet,
    speed: 30,
    timeScale: 0.001,
    provider,
    seeds,
    ...(truenas && { truenas }),
  });
  const striker = strikerFor?.(testbed);
  const sweep = new FaultSweep(testbed, striker, script.naming());
  try {
    testbed.provider.start();
    const shape = await script.play(testbed, sweep, expected);
    const calls = providerCalls(testbed.calls);
    const faults = testbed.faults().filter((line) => !(provider.asProgram && lostLease.test(line)));
    return { shape, seen: sweep.seen, calls, sweep, offences: [...faults, ...findSecretLeaks(testbed)] };
  } finally {
    sweep.end();
    await striker?.settled?.();
    await testbed.close();
  }
}

/** The reference for other runs. */
export async function runUndisturbed(subnet: string, script: Scenario, truenas?: string): Promise<ReferenceRun> {
  return await runScenario({ subnet, script, ...(truenas && { truenas }) });
}

/** The differences to a run without faults; empty when there is none. */
interface SweepResult {
  /** Calls that are due for a fault and got none. */
  readonly missed: readonly string[];
  readonly offences: readonly string[];
  /** The number of injected faults. */
  readonly struck: number;
  readonly shape: StateSnapshot;
  /** For reports: the faults that may have caused the differences. */
  readonly story: string;
}

/**
 * Runs the scenario again, with a fault in every call. `due`: the calls that must be among them; default: all of the
 * reference.
 */
async function runWithFaults(
  reference: ReferenceRun,
  options: ScenarioOptions & { readonly due?: (name: string) => boolean },
): Promise<SweepResult> {
  const { due = () => true } = options;
  const { shape, sweep, offences } = await runScenario(options, reference.shape);
  const missed = sweep.missed([...reference.seen].filter(due));
  const struck = sweep.strikes.length;
  return { missed, offences, struck, shape, story: sweep.story(differingKeys(shape, reference.shape)) };
}

/** Runs the scenario once without faults and once with a fault in every call, and compares the results. */
export async function expectSameResultAsUndisturbed(options: Parameters<typeof runWithFaults>[1]): Promise<void> {
  const { subnet, script, truenas } = options;
  await expectSameResult(await runUndisturbed(subnet, script, truenas), options);
}

/**
 * Runs the scenario again, with a fault in every call, and compares the result with the reference. Returns the number
 * of faults.
 */
export async function expectSameResult(
  reference: ReferenceRun,
  options: Parameters<typeof runWithFaults>[1],
): Promise<number> {
  const verdict = await runWithFaults(reference, options);
  expect(verdict.shape, verdict.story).toEqual(reference.shape);
  expect(verdict.missed, verdict.story).toEqual([]);
  expect(verdict.offences).toEqual([]);
  return verdict.struck;
}
