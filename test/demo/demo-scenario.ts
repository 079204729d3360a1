import type { Machine } from '../../src/api/machine.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { RunningWorld } from '../world/world.ts';
import type { DemoContext } from './demo-context.ts';
import type { UpgradeScenario } from './upgrade/upgrade-scenario.ts';

/** The parts of the demo that differ between platforms. */
export interface DemoScenario {
  /** Introduces the simulators. */
  readonly opening: string;
  /** Heading of the applied objects. */
  readonly heading: string;
  /** Seeds of the simulators. */
  readonly seeds: Readonly<Record<string, unknown>>;
  objects(world: RunningWorld): Promise<KubeObject[]>;
  /** What `--story upgrade` needs beside it. */
  readonly upgrade: UpgradeScenario;
  /**
   * Milestones in the creation of a machine, each printed once: a function returns its sentence once the milestone is
   * reached.
   */
  readonly moments: readonly ((machine: Machine) => string | undefined)[];
  /** Runs with the samples only, while the cluster is ready. */
  interlude(testbed: DemoContext, objects: readonly KubeObject[]): Promise<void>;
  /** Runs when the last Cluster is deleted and everything else still exists. */
  whenGone(testbed: DemoContext): Promise<void>;
  /** The remaining resources, in a sentence. */
  readonly remains: string;
}
