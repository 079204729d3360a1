import type { HardwareCapability, HardwareComparison } from '../../src/engine/capabilities/hardware.ts';
import type { StepContext } from '../../src/engine/contexts.ts';
import { done, type Step, wait, waitWithReason } from '../../src/engine/step.ts';
import type { NodeModel } from './node-model.ts';

/** A platform in memory with one machine, whose hardware is one word. */
export class HardwareModel {
  present = 'small';
  desired = 'small';
  isOn = true;
  isShort = false;
  readonly #node: NodeModel;

  constructor(node: NodeModel) {
    this.#node = node;
  }

  readonly compare = async (): Promise<HardwareComparison> => ({
    running: this.present,
    changes: this.present === this.desired ? [] : [{ field: 'size.memoryMiB', class: 'hardware' }],
  });

  readonly capability: HardwareCapability = {
    describe: () => this.desired,
    compare: this.compare,
    admission: [
      this.#step('admitted', () =>
        this.isShort ? waitWithReason('InsufficientMemory', 30, 'Too little memory.') : done(),
      ),
    ],
    steps: [
      this.#step('off', () => {
        if (!this.isOn || this.present === this.desired) return done();
        this.#switch('off', false);
        return wait(1, 'It shuts down.');
      }),
      this.#step('changed', () => {
        if (this.isOn || this.present === this.desired) return done();
        this.#node.count(`change ${this.desired}`);
        this.present = this.desired;
        return done();
      }),
      this.#step('started', () => {
        if (!this.isOn) this.#switch('on', true);
        return done();
      }),
    ],
  };

  #switch(effect: string, isOn: boolean): void {
    this.#node.count(effect);
    this.isOn = isOn;
    this.#node.isOff = !isOn;
    if (isOn) this.#node.restart();
  }

  #step(name: string, run: () => Awaited<ReturnType<Step<StepContext>['run']>>): Step<StepContext> {
    return { name, run: async () => run() };
  }
}
