import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { isProviderCall } from './provider-calls.ts';

/** An event in the simulators in the middle of a call of the provider. */
export interface MidCallAction {
  readonly simulator: string;
  readonly name: RegExp;
  /** Name of a Cluster: only calls to its nodes. */
  readonly node?: string;
  /** The number of the call among such calls; default: the first. */
  readonly nth?: number;
  readonly happens: () => Promise<void>;
}

/** Runs each action once, in the middle of its call; actions on the same call run one after the other. */
export class MidCallActions {
  readonly #left: Map<MidCallAction, number>;
  readonly #off: () => void;
  #happening: Promise<void> = Promise.resolve();

  constructor(testbed: Testbed, mishaps: readonly MidCallAction[]) {
    this.#left = new Map(mishaps.map((mishap) => [mishap, mishap.nth ?? 1]));
    this.#off = testbed.world.switchboard.onCall((call) => {
      if (isProviderCall(call)) this.#see(call);
    });
  }

  #see(call: InterceptedCall): void {
    for (const [mishap, left] of this.#left) {
      if (!matchesCall(mishap, call)) continue;
      this.#left.set(mishap, left - 1);
      if (left > 1) continue;
      this.#left.delete(mishap);
      this.#happening = this.#happening.then(mishap.happens);
    }
  }

  /** The calls that never came. */
  missed(): string[] {
    return [...this.#left.keys()].map(({ simulator, name }) => `${simulator} ${name.source}`);
  }

  /** Stops further actions. Throws the error of a failed action. */
  async end(): Promise<void> {
    this.#off();
    await this.#happening;
  }
}

function matchesCall({ simulator, name, node }: MidCallAction, call: InterceptedCall): boolean {
  if (call.simulator !== simulator || !name.test(call.name)) return false;
  if (node === undefined) return true;
  const { node: called = '' } = (call.detail ?? {}) as { node?: string };
  return called.includes(`${node}_`);
}
