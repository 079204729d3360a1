import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { eventually as waitFor } from '../../../support/eventually.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import { CallNaming } from '../call-naming.ts';
import type { FaultSweep } from '../fault-sweep.ts';
import type { Scenario } from '../scenario-run.ts';
import { type StateSnapshot, snapshotState } from '../state-snapshot.ts';
import { stableSnapshot } from './stable-snapshot.ts';
import { triggerReconciles } from './trigger-reconciles.ts';

/** Phases of a lifecycle by name, in order; each is done when it resolves. A phase checks its own results. */
export type LifecyclePhases = Readonly<Record<string, (testbed: Testbed) => Promise<void>>>;

/** The lifecycle of a Cluster from its ProviderConfig to its deletion. */
export interface ClusterLifecycle {
  /** Creates the initial objects; `subnet` is the run's own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
  readonly cluster: NamespacedRef;
  /** The phases up to the full size. */
  readonly rise: LifecyclePhases;
  /** Further checks at the full size. Their calls belong to the test. */
  readonly height?: (testbed: Testbed) => Promise<void>;
  /** The phases of the deletion. */
  readonly fall: LifecyclePhases;
}

/** Seconds for one phase of a lifecycle, in which every call may be delayed. */
const patienceSeconds = 300;
export const eventuallyInSweep = (what: string, look: Parameters<typeof waitFor>[1]) =>
  waitFor(what, look, patienceSeconds);

/**
 * Runs the lifecycle. The snapshot shows the state at the full size, when it is as expected or does not change any
 * more. An error names the faults before it.
 */
export const scenarioOf = (life: ClusterLifecycle): Scenario => ({
  naming: () => new CallNaming(),
  ...(life.seeds ? { seeds: life.seeds } : {}),
  play: async (testbed, sweep, expected) => {
    await runPhases(testbed, sweep, life.rise);
    let shape: StateSnapshot = {};
    await runPhase(testbed, sweep, 'height', async () => {
      sweep.isPaused = true;
      await life.height?.(testbed);
      shape = await stableSnapshot(() => snapshotState(testbed, life.cluster), expected, { seconds: 60, pauseMs: 300 });
      sweep.isPaused = false;
    });
    await runPhases(testbed, sweep, life.fall);
    return shape;
  },
});

async function runPhases(testbed: Testbed, sweep: FaultSweep, acts: LifecyclePhases): Promise<void> {
  const rest = triggerReconciles(testbed);
  try {
    for (const [act, work] of Object.entries(acts)) await runPhase(testbed, sweep, act, () => work(testbed));
  } finally {
    await rest();
  }
}

async function runPhase(testbed: Testbed, sweep: FaultSweep, act: string, work: () => Promise<void>): Promise<void> {
  sweep.begin(act);
  try {
    await work();
  } catch (error) {
    throw new Error(`the life broke in its act "${act}". ${sweep.story()}${testbed.tail()}`, { cause: error });
  }
}
