import { setTimeout as delay } from 'node:timers/promises';
import type { NamespacedRef } from '../../../src/api/openmcp.ts';
import { eventually as waitFor } from '../support/eventually.ts';
import type { Stage } from '../support/stage.ts';
import { Naming } from './naming.ts';
import { nudge } from './nudge.ts';
import { differencesOf, type Shape, shapeOf } from './shape.ts';
import type { Sweep } from './sweep.ts';
import type { Script } from './trial.ts';

/** Parts of a life by name, in order; each is done when it resolves. What a part has to leave behind it expects itself. */
export type Acts = Readonly<Record<string, (stage: Stage) => Promise<void>>>;

/** The life of a Cluster from an offer to nothing. */
export interface Life {
  /** What the world begins with; `subnet` is the life's own. */
  readonly seeds?: (subnet: string) => Readonly<Record<string, unknown>>;
  readonly cluster: NamespacedRef;
  /** Up to its height. */
  readonly rise: Acts;
  /** What has to work at its height, besides. Its calls are the test's. */
  readonly height?: (stage: Stage) => Promise<void>;
  /** Everything is taken down again. */
  readonly fall: Acts;
}

/** For one part of a life, in which every call may take its time. */
const patienceSeconds = 300;
export const eventually = (what: string, look: Parameters<typeof waitFor>[1]) => waitFor(what, look, patienceSeconds);

/**
 * Lives it. The shape is what there was at its height, when it is as expected or does not become so any more. Whatever goes wrong
 * is told with the calls that were struck before.
 */
export const scriptOf = (life: Life): Script => ({
  naming: () => new Naming(),
  ...(life.seeds ? { seeds: life.seeds } : {}),
  play: async (stage, sweep, expected) => {
    await play(stage, sweep, life.rise);
    let shape: Shape = {};
    await playOne(stage, sweep, 'height', async () => {
      sweep.isPaused = true;
      await life.height?.(stage);
      shape = await restingShape(stage, life.cluster, expected);
      sweep.isPaused = false;
    });
    await play(stage, sweep, life.fall);
    return shape;
  },
});

async function play(stage: Stage, sweep: Sweep, acts: Acts): Promise<void> {
  const rest = nudge(stage);
  try {
    for (const [act, work] of Object.entries(acts)) await playOne(stage, sweep, act, () => work(stage));
  } finally {
    await rest();
  }
}

async function playOne(stage: Stage, sweep: Sweep, act: string, work: () => Promise<void>): Promise<void> {
  sweep.begin(act);
  try {
    await work();
  } catch (error) {
    throw new Error(`the life broke in its act "${act}". ${sweep.story()}${stage.tail()}`, { cause: error });
  }
}

/** What there is when nothing is under way: as expected, or, where nothing is, the same twice. */
async function restingShape(stage: Stage, cluster: NamespacedRef, expected: Shape | undefined): Promise<Shape> {
  const end = performance.now() + 60_000;
  let shape = await shapeOf(stage, cluster);
  for (let aim = expected; performance.now() < end; aim = expected ?? shape) {
    if (aim && differencesOf(shape, aim).length === 0) break;
    await delay(300);
    shape = await shapeOf(stage, cluster);
  }
  return shape;
}
