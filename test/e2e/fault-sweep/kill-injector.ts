import { Lease } from '../../../src/kube/core-types.ts';
import type { Fault } from '../../world/faults/call-interceptor.ts';
import type { Testbed } from '../support/testbed/testbed.ts';
import type { FaultInjector } from './fault-sweep.ts';

interface KillInjectorOptions {
  /** Whether the next one waits until the Lease has run out; default: no. */
  readonly patient?: boolean;
  /** What goes on between two lives. */
  readonly between?: (stage: Testbed) => Promise<void>;
}

/**
 * Kills the provider at a call: when the work is done and before it can hear of it. Then starts it anew.
 *
 * Nobody else would know that the provider is dead, so the next one waits until the Lease of the dead has run out. Here
 * death is certain, and the Lease is emptied in its place before the next life begins; with `patient` that wait is kept.
 */
export class KillInjector implements FaultInjector {
  readonly #stage: Testbed;
  readonly #options: KillInjectorOptions;
  #revival: Promise<void> | undefined;
  #isDoomed = false;

  constructor(stage: Testbed, options: KillInjectorOptions = {}) {
    this.#stage = stage;
    this.#options = options;
  }

  /**
   * What to do to the call that is to be the last. Others that are on their way then are carried out as well, and nobody
   * hears of them either.
   */
  strike(): Fault {
    if (this.#isDoomed) return { kind: 'lose-reply' };
    this.#isDoomed = true;
    const meanwhile = (): void => {
      this.#revival = this.#kill();
    };
    return { kind: 'lose-reply', meanwhile };
  }

  /** Resolves when the provider lives again. Throws when it could not be brought back. */
  async settled(): Promise<void> {
    await this.#revival;
  }

  async #kill(): Promise<void> {
    const { provider } = this.#stage;
    await provider.kill();
    const { patient, between } = this.#options;
    if (!patient) await this.#emptyLease();
    await between?.(this.#stage);
    this.#isDoomed = false;
    provider.start();
  }

  async #emptyLease(): Promise<void> {
    const { platform, namespace } = this.#stage;
    const { items } = await platform.list(Lease, { namespace });
    const name = items.map(({ metadata }) => metadata.name).find((one) => one.startsWith('cluster-provider-talos-'));
    if (name) await platform.merge(Lease, { namespace, name }, { spec: { holderIdentity: '' } });
  }
}
