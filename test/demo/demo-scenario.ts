import type { Machine } from '../../src/api/machine.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { RunningWorld } from '../world/world.ts';
import type { DemoArguments } from './arguments.ts';
import type { DemoContext } from './demo-context.ts';
import { robotScenario } from './robot/robot-scenario.ts';
import { truenasScenario } from './truenas-scenario.ts';

/** What is different from platform to platform. */
export interface DemoScenario {
  /** Names the parts of the world. */
  readonly opening: string;
  /** Over the objects that are applied. */
  readonly heading: string;
  /** Seeds of the world's rooms. */
  readonly seeds: Readonly<Record<string, unknown>>;
  objects(world: RunningWorld): Promise<KubeObject[]>;
  /** What is worth a line of its own while machines are made, each told once: a sentence from when it has come about. */
  readonly moments: readonly ((machine: Machine) => string | undefined)[];
  /** Played with the samples alone, while the cluster works. */
  interlude(stage: DemoContext, objects: readonly KubeObject[]): Promise<void>;
  /** What can be seen when the last Cluster is gone and everything else is there yet. */
  whenGone(stage: DemoContext): Promise<void>;
  /** What stays, in a sentence. */
  readonly remains: string;
}

export const demoScenarios: Readonly<Record<DemoArguments['platform'], DemoScenario>> = {
  truenas: truenasScenario,
  'hetzner-robot': robotScenario,
};
