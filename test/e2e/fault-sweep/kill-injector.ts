import type { Fault } from '../../world/faults/call-interceptor.ts';
import { emptyLease } from '../support/provider-process/restart-killed.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import type { FaultInjector } from './fault-sweep.ts';

interface KillInjectorOptions {
  /** Whether the next run waits until the Lease has expired; default: no. */
  readonly patient?: boolean;
  /** Runs between two runs of the provider. */
  readonly between?: (testbed: Testbed) => Promise<void>;
}

/**
 * Kills the provider at a call, after the work and before its reply. Then starts it again.
 *
 * Other processes cannot know that the provider is dead, so the next run waits until the Lease has expired. Here the
 * death is certain, and the injector empties the Lease before the next run; with `patient` it keeps the wait.
 */
export class KillInjector implements FaultInjector {
  readonly #testbed: Testbed;
  readonly #options: KillInjectorOptions;
  #revival: Promise<void> | undefined;
  #isDoomed = false;

  constructor(testbed: Testbed, options: KillInjectorOptions = {}) {
    this.#testbed = testbed;
    this.#options = options;
  }

  /** The fault of the run's last call. Other calls in flight are executed as well, and their replies are lost, too. */
  strike(): Fault {
    if (this.#isDoomed) return { kind: 'lose-reply' };
    this.#isDoomed = true;
    const meanwhile = (): void => {
      this.#revival = this.#kill();
    };
    return { kind: 'lose-reply', meanwhile };
  }

  /** Resolves when the provider runs again. Throws when the restart failed. */
  async settled(): Promise<void> {
    await this.#revival;
  }

  async #kill(): Promise<void> {
    const { provider } = this.#testbed;
    await provider.kill();
    const { patient, between } = this.#options;
    if (!patient) await emptyLease(this.#testbed);
    await between?.(this.#testbed);
    this.#isDoomed = false;
    provider.start();
  }
}
