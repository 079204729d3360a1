import { setTimeout as delay } from 'node:timers/promises';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { eventually as waitFor } from '../../../support/eventually.ts';
import type { Testbed } from '../../support/testbed/testbed.ts';
import { CallNaming } from '../call-naming.ts';
import type { FaultSweep } from '../fault-sweep.ts';
import type { Scenario } from '../scenario-run.ts';
import { differingKeys, type StateSnapshot, snapshotState } from '../state-snapshot.ts';
import { triggerReconciles } from './trigger-reconciles.ts';

/** Parts of a life by name, in order; each is done when it resolves. What a part has to leave behind it expects itself. */
export type LifecyclePhases = Readonly<Record<string, (stage: Testbed) => Promise<void>>>;

/** The life of a Cluster from an offer to nothing. */
export interface ClusterLifecycle {
  /** What the world begins with; `subnet` is the life's own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
  readonly cluster: NamespacedRef;
  /** Up to its height. */
  readonly rise: LifecyclePhases;
  /** What has to work at its height, besides. Its calls are the test's. */
  readonly height?: (stage: Testbed) => Promise<void>;
  /** Everything is taken down again. */
  readonly fall: LifecyclePhases;
}

/** For one part of a life, in which every call may take its time. */
const patienceSeconds = 300;
export const eventuallyInSweep = (what: string, look: Parameters<typeof waitFor>[1]) =>
  waitFor(what, look, patienceSeconds);

/**
 * Lives it. The shape is what there was at its height, when it is as expected or does not become so any more. Whatever goes wrong
 * is told with the calls that were struck before.
 */
export const scenarioOf = (life: ClusterLifecycle): Scenario => ({
  naming: () => new CallNaming(),
  ...(life.seeds ? { seeds: life.seeds } : {}),
  play: async (stage, sweep, expected) => {
    await runPhases(stage, sweep, life.rise);
    let shape: StateSnapshot = {};
    await runPhase(stage, sweep, 'height', async () => {
      sweep.isPaused = true;
      await life.height?.(stage);
      shape = await stableSnapshot(stage, life.cluster, expected);
      sweep.isPaused = false;
    });
    await runPhases(stage, sweep, life.fall);
    return shape;
  },
});

async function runPhases(stage: Testbed, sweep: FaultSweep, acts: LifecyclePhases): Promise<void> {
  const rest = triggerReconciles(stage);
  try {
    for (const [act, work] of Object.entries(acts)) await runPhase(stage, sweep, act, () => work(stage));
  } finally {
    await rest();
  }
}

async function runPhase(stage: Testbed, sweep: FaultSweep, act: string, work: () => Promise<void>): Promise<void> {
  sweep.begin(act);
  try {
    await work();
  } catch (error) {
    throw new Error(`the life broke in its act "${act}". ${sweep.story()}${stage.tail()}`, { cause: error });
  }
}

/** What there is when nothing is under way: as expected, or, where nothing is, the same twice. */
async function stableSnapshot(
  stage: Testbed,
  cluster: NamespacedRef,
  expected: StateSnapshot | undefined,
): Promise<StateSnapshot> {
  const end = performance.now() + 60_000;
  let shape = await snapshotState(stage, cluster);
  for (let aim = expected; performance.now() < end; aim = expected ?? shape) {
    if (aim && differingKeys(shape, aim).length === 0) break;
    await delay(300);
    shape = await snapshotState(stage, cluster);
  }
  return shape;
}
