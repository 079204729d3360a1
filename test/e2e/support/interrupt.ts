import type { Call } from '../../world/switchboard.ts';
import type { Provider } from './provider.ts';
import type { Stage } from './stage.ts';
import { isOfProvider } from './traces.ts';

/** A call into the world, in the middle of which the provider is to be stopped. */
export interface Point {
  readonly room: string;
  readonly name: RegExp;
}

/**
 * Stops the provider in the middle of its first call of each kind, and starts it again. Which way the call goes is
 * left to chance: both have to end well.
 */
export class Interruptions {
  readonly #provider: Provider;
  readonly #left: Set<Point>;
  readonly #off: () => void;
  #restart: Promise<void> | undefined;

  constructor(stage: Stage, points: readonly Point[]) {
    this.#provider = stage.provider;
    this.#left = new Set(points);
    this.#off = stage.world.switchboard.onCall((call) => this.#see(call));
  }

  #see(call: Call): void {
    if (this.#restart || !isOfProvider(call)) return;
    const hit = [...this.#left].find(({ room, name }) => room === call.room && name.test(call.name));
    if (!hit) return;
    this.#left.delete(hit);
    this.#restart = this.#provider.restart().finally(() => {
      this.#restart = undefined;
    });
  }

  /** The calls that never came. */
  missed(): string[] {
    return [...this.#left].map(({ room, name }) => `${room} ${name.source}`);
  }

  /** No more of them. Throws when the provider did not survive one. */
  async end(): Promise<void> {
    this.#off();
    await this.#restart;
  }
}
