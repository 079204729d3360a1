import { setTimeout as pause } from 'node:timers/promises';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Namespace } from '../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import type { SecretString } from '../../src/lib/secret-string.ts';

/** Interval of the requests, in milliseconds. */
const intervalMs = 100;
/** A request that was not answered within this time, retries included, counts as lost. */
const deadlineMs = 1000;
/** A connection may be dead: an attempt that is not answered by then is repeated on another one. */
const attemptMs = 300;
const retryMs = 50;

export interface RequestCounts {
  readonly total: number;
  readonly lost: number;
  /** The longest time until an answer, retries included, in milliseconds. */
  readonly slowestMs: number;
}

/**
 * A client that asks the API server ten times a second, as a controller in the cluster would, and counts the requests
 * that it lost. With several kubeconfigs, a retry goes to the next one, as with a DNS name that has several addresses.
 */
export class RequestCounter {
  readonly #clients: readonly KubeClient[];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #active = new Set<Promise<void>>();
  #total = 0;
  #lost = 0;
  #slowestMs = 0;

  constructor(kubeconfigs: readonly SecretString[]) {
    this.#clients = kubeconfigs.map(
      (text) =>
        new KubeClient(new Transport(loadApiServerConnection({ text })), { fieldManager: 'demo', deadlineSeconds: 1 }),
    );
    this.#running = this.#run();
  }

  get counts(): RequestCounts {
    return { total: this.#total, lost: this.#lost, slowestMs: Math.round(this.#slowestMs) };
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const request = this.#request().finally(() => this.#active.delete(request));
      this.#active.add(request);
      await pause(intervalMs);
    }
  }

  async #request(): Promise<void> {
    const startedAt = performance.now();
    const remaining = (): number => deadlineMs - (performance.now() - startedAt);
    this.#total += 1;
    for (let i = 0; remaining() > 0; i += 1) {
      const client = this.#clients[i % this.#clients.length];
      try {
        await client?.get(
          Namespace,
          { name: 'kube-system' },
          AbortSignal.timeout(Math.max(1, Math.min(attemptMs, remaining()))),
        );
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedAt);
        return;
      } catch {
        await pause(retryMs);
      }
    }
    this.#lost += 1;
  }

  /** Ends the requests and returns their counts. */
  async stop(): Promise<RequestCounts> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#active);
    await Promise.all(this.#clients.map((client) => client.close()));
    return this.counts;
  }
}
