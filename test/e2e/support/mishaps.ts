import type { Call } from '../../world/switchboard.ts';
import type { Stage } from './stage.ts';
import { isOfProvider } from './traces.ts';

/** Something that happens in the world in the middle of a call of the provider. */
export interface Mishap {
  readonly room: string;
  readonly name: RegExp;
  /** Of a Cluster: only calls to its nodes. */
  readonly node?: string;
  /** In which of such calls; default the first. */
  readonly nth?: number;
  readonly happens: () => Promise<void>;
}

/** Lets each mishap happen once, in the middle of its call, one after the other when they meet. */
export class Mishaps {
  readonly #left: Map<Mishap, number>;
  readonly #off: () => void;
  #happening: Promise<void> = Promise.resolve();

  constructor(stage: Stage, mishaps: readonly Mishap[]) {
    this.#left = new Map(mishaps.map((mishap) => [mishap, mishap.nth ?? 1]));
    this.#off = stage.world.switchboard.onCall((call) => {
      if (isOfProvider(call)) this.#see(call);
    });
  }

  #see(call: Call): void {
    for (const [mishap, left] of this.#left) {
      if (!isMeant(mishap, call)) continue;
      this.#left.set(mishap, left - 1);
      if (left > 1) continue;
      this.#left.delete(mishap);
      this.#happening = this.#happening.then(mishap.happens);
    }
  }

  /** The calls that never came. */
  missed(): string[] {
    return [...this.#left.keys()].map(({ room, name }) => `${room} ${name.source}`);
  }

  /** No more of them. Throws what went wrong with one. */
  async end(): Promise<void> {
    this.#off();
    await this.#happening;
  }
}

function isMeant({ room, name, node }: Mishap, call: Call): boolean {
  if (call.room !== room || !name.test(call.name)) return false;
  if (node === undefined) return true;
  const { node: called = '' } = (call.detail ?? {}) as { node?: string };
  return called.includes(`${node}_`);
}
