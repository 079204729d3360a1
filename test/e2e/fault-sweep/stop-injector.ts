import type { Fault } from '../../world/faults/call-interceptor.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import type { FaultInjector } from './fault-sweep.ts';

/** Stops the provider in order during a call, as SIGTERM does, and starts it again after its end. */
export class StopInjector implements FaultInjector {
  readonly #testbed: Testbed;
  readonly #between: (testbed: Testbed) => Promise<void>;
  #restart: Promise<void> = Promise.resolve();
  #isEnding = false;

  /** `between`: runs between two runs of the provider. */
  constructor(testbed: Testbed, between = async (_stage: Testbed): Promise<void> => {}) {
    this.#testbed = testbed;
    this.#between = between;
  }

  /** Calls during a stop that has already begun count as calls in flight at a stop as well. */
  strike(): Fault {
    if (!this.#isEnding) this.#stop();
    return { kind: 'late', milliseconds: 5 };
  }

  async settled(): Promise<void> {
    await this.#restart;
  }

  #stop(): void {
    this.#isEnding = true;
    this.#restart = this.#startAnew();
  }

  async #startAnew(): Promise<void> {
    const { provider } = this.#testbed;
    try {
      await provider.stop();
      await this.#between(this.#testbed);
      provider.start();
    } finally {
      this.#isEnding = false;
    }
  }
}
