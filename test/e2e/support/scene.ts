import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { NamespacedRef } from '../../../src/api/openmcp.ts';
import { eventually } from './eventually.ts';
import { Fencing } from './fencing.ts';
import type { Pod } from './pod.ts';
import { Stage, type StageOptions } from './stage.ts';

/** A stage on which pods play the provider: what can befall a process befalls each of them alone. */
export class Scene<P extends Pod = Pod> {
  readonly stage: Stage;
  readonly pods: readonly P[];
  /** Who leads, and whether anybody acts who does not. Nothing is known of it at a real platform cluster. */
  readonly fencing: Fencing<P>;

  private constructor(stage: Stage, pods: readonly P[]) {
    this.stage = stage;
    this.pods = pods;
    this.fencing = new Fencing(stage, pods);
  }

  static async open<P extends Pod>(options: StageOptions, make: (stage: Stage) => Promise<readonly P[]>) {
    const stage = await Stage.open(options);
    const scene = new Scene(stage, await make(stage));
    // One after the other: who makes the Lease is seen to do so before it has it.
    for (const pod of scene.pods) {
      pod.start();
      if (stage.world.platform) await eventually('somebody leads', () => scene.fencing.leader);
    }
    return scene;
  }

  /** The only pod. */
  get pod(): P {
    const [pod] = this.pods;
    if (!pod || this.pods.length > 1) throw new Error(`there are ${this.pods.length} pods`);
    return pod;
  }

  otherThan(pod: P): P {
    return this.pods.find((one) => one !== pod) ?? pod;
  }

  async isReady(ref: NamespacedRef): Promise<boolean> {
    return (await this.stage.things.getCluster(ref)).status?.phase === 'Ready';
  }

  async isGranted(ref: NamespacedRef): Promise<boolean> {
    return (await this.stage.things.getRequest(ref)).status?.phase === 'Granted';
  }

  tail(): string {
    return this.pods.map((pod) => pod.tail()).join('') + this.stage.tail();
  }

  async close(): Promise<void> {
    this.fencing.close();
    for (const pod of this.pods) await pod.close();
    await this.stage.close();
  }
}

/** One scene for all tests of a file, with the pods running. A test that fails prints the ends of their logs. */
export function startScene<P extends Pod>(
  options: StageOptions,
  make: (stage: Stage) => Promise<readonly P[]>,
): () => Scene<P> {
  let scene: Scene<P> | undefined;
  beforeAll(async () => {
    scene = await Scene.open(options, make);
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => {
      process.stderr.write(scene?.tail() ?? '');
    });
  });
  afterAll(async () => await scene?.close());
  return () => {
    if (!scene) throw new Error('the scene did not open');
    return scene;
  };
}
