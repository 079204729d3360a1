import { setTimeout as pause } from 'node:timers/promises';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { Namespace } from '../../../../src/kube/core-types.ts';
import { isRetryable, isUnreachable, type KubeError } from '../../../../src/kube/errors.ts';

/**
 * Whether the next server gets the request: this one is away, or it rejects requests for a while, as kube-apiserver
 * does while it shuts down (503 with Retry-After, on which Go's clients retry, too).
 */
const isRetriedElsewhere = (error: unknown): boolean =>
  isUnreachable(error) || (isRetryable(error) && (error as KubeError).retryAfterSeconds !== undefined);

/**
 * Polls a cluster like a load balancer before its API servers: one server after the other until one answers. A request
 * that no server answers counts as a failure.
 */
export class ApiServerPoller {
  readonly failures: string[] = [];
  /** Requests that were answered. */
  answered = 0;
  /** How often another server answered in place of one that was away. */
  moved = 0;
  readonly #clients: readonly KubeClient[];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(clients: readonly KubeClient[]) {
    this.#clients = clients;
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    for (const client of this.#clients) await client.close();
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#stop.signal.aborted; turn += 1) {
      await this.#ask(turn);
      await pause(50);
    }
  }

  async #ask(turn: number): Promise<void> {
    const order = this.#clients.map((_, i) => this.#clients[(turn + i) % this.#clients.length]);
    const problems: string[] = [];
    for (const client of order) {
      try {
        await client?.get(Namespace, { name: 'default' });
        this.answered += 1;
        this.moved += problems.length > 0 ? 1 : 0;
        return;
      } catch (error) {
        problems.push(error instanceof Error ? error.message : String(error));
        if (!isRetriedElsewhere(error)) break;
      }
    }
    this.failures.push(problems.join('; '));
  }
}
