import type { Fault } from '../../world/switchboard.ts';
import type { Stage } from '../support/stage.ts';
import type { Striker } from './sweep.ts';

/** Stops the provider in order while a call is under way, as SIGTERM does, and starts it again when it has ended. */
export class Stopper implements Striker {
  readonly #stage: Stage;
  #restart: Promise<void> = Promise.resolve();
  #isEnding = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** What it still does while it ends is left alone. */
  strike(): Fault | undefined {
    if (this.#isEnding) return undefined;
    this.#isEnding = true;
    this.#restart = this.#stage.provider.restart().finally(() => {
      this.#isEnding = false;
    });
    return { kind: 'late', milliseconds: 5 };
  }

  async settled(): Promise<void> {
    await this.#restart;
  }
}
