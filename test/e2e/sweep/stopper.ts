import type { Fault } from '../../world/switchboard.ts';
import type { Stage } from '../support/stage.ts';
import type { Striker } from './sweep.ts';

/** Stops the provider in order while a call is under way, as SIGTERM does, and starts it again when it has ended. */
export class Stopper implements Striker {
  readonly #stage: Stage;
  readonly #between: (stage: Stage) => Promise<void>;
  #restart: Promise<void> = Promise.resolve();
  #isEnding = false;

  /** `between`: what goes on between two lives. */
  constructor(stage: Stage, between = async (_stage: Stage): Promise<void> => {}) {
    this.#stage = stage;
    this.#between = between;
  }

  /** Calls that meet an end which has begun already are calls under way at a stop as well. */
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
    const { provider } = this.#stage;
    try {
      await provider.stop();
      await this.#between(this.#stage);
      provider.start();
    } finally {
      this.#isEnding = false;
    }
  }
}
