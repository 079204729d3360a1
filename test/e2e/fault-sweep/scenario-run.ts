import { expect } from 'vitest';
import type { InterceptedCall } from '../../world/faults/call-interceptor.ts';
import { providerCalls } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import type { ProviderRunMode } from '../support/provider-process/provider.ts';
import { Testbed } from '../support/testbed/testbed.ts';
import type { CallNaming } from './call-naming.ts';
import { type FaultInjector, FaultSweep } from './fault-sweep.ts';
import { differingKeys, type StateSnapshot } from './state-snapshot.ts';

/** What a life without any strike was like. */
export interface ReferenceRun {
  readonly shape: StateSnapshot;
  readonly seen: ReadonlySet<string>;
  /** Of the provider, at the platform's API server. */
  readonly calls: readonly InterceptedCall[];
}

/** What is lived: the life of a Cluster, or a part of one. Returns what there was at the end, or on the way. */
export interface Scenario {
  play(stage: Testbed, sweep: FaultSweep, expected?: StateSnapshot): Promise<StateSnapshot>;
  readonly naming: () => CallNaming;
  /** Of the world's rooms; default: their own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
}

interface ScenarioOptions {
  readonly subnet: string;
  /** Its release; default: that of a stage there. */
  readonly truenas?: string;
  readonly script: Scenario;
  readonly manner?: ProviderRunMode;
  readonly striker?: (stage: Testbed) => FaultInjector;
}

/** With the usual Lease there is a renewal soon. */
const defaultMode: ProviderRunMode = { leaseSeconds: 15, isRevived: true };

/**
 * The built program, whose Lease lasts five seconds of ours, of which it may spend three on one renewal: among other tests the world is
 * two of them late at times.
 */
export const childProcessMode: ProviderRunMode = { asProgram: { speed: 3 } };

interface ScenarioRun extends ReferenceRun {
  readonly sweep: FaultSweep;
  /** What the provider said that it should not: faults of its own, and secrets. */
  readonly offences: readonly string[];
}

/** One life on a stage of its own. */
async function runScenario(options: ScenarioOptions, expected?: StateSnapshot): Promise<ScenarioRun> {
  const { subnet, truenas, manner, striker: strikerFor, script } = options;
  const provider = { ...defaultMode, ...manner };
  const seeds = script.seeds?.(subnet) ?? {};
  const stage = await Testbed.open({
    subnet,
    speed: 30,
    timeScale: 0.001,
    provider,
    seeds,
    ...(truenas && { truenas }),
  });
  const striker = strikerFor?.(stage);
  const sweep = new FaultSweep(stage, striker, script.naming());
  try {
    stage.provider.start();
    const shape = await script.play(stage, sweep, expected);
    const calls = providerCalls(stage.calls);
    return { shape, seen: sweep.seen, calls, sweep, offences: [...stage.faults(), ...findSecretLeaks(stage)] };
  } finally {
    sweep.end();
    await striker?.settled?.();
    await stage.close();
  }
}

/** The life that others have to end like. */
export async function runUndisturbed(subnet: string, script: Scenario, truenas?: string): Promise<ReferenceRun> {
  return await runScenario({ subnet, script, ...(truenas && { truenas }) });
}

/** In words what went otherwise than without strikes; empty when nothing did. */
interface SweepResult {
  /** Calls that were not struck though they should have been. */
  readonly missed: readonly string[];
  readonly offences: readonly string[];
  /** How many calls were struck. */
  readonly struck: number;
  readonly shape: StateSnapshot;
  /** For people: which strikes may be to blame. */
  readonly story: string;
}

/** Lives once more, struck at every call. `due`: the calls that must be among them; default: all of the reference. */
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

/** Lives once without any strike and once more struck at every call, and holds the one against the other. */
export async function expectSameResultAsUndisturbed(options: Parameters<typeof runWithFaults>[1]): Promise<void> {
  const { subnet, script, truenas } = options;
  await expectSameResult(await runUndisturbed(subnet, script, truenas), options);
}

/** Lives once more, struck at every call, and holds it against the reference. Returns how many calls were struck. */
export async function expectSameResult(
  reference: ReferenceRun,
  options: Parameters<typeof runWithFaults>[1],
): Promise<number> {
  const verdict = await runWithFaults(reference, options);
  expect(verdict.shape, verdict.story).toEqual(reference.shape);
  expect(verdict.missed).toEqual([]);
  expect(verdict.offences).toEqual([]);
  return verdict.struck;
}
