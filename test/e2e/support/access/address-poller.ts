import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { describeNetworkError } from '../../../../src/kube/client/api-status.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import type { SecretString } from '../../../../src/lib/secret-string.ts';

/**
 * Polls the readiness of one address of a cluster, each time over a new connection, with a timeout of two seconds. A
 * connection that breaks during the call is retried once, as Go's HTTP client and thus kubectl do; a refused one is
 * not.
 */
export class AddressPoller {
  readonly failures: string[] = [];
  answered = 0;
  /** Connections that broke. */
  broken = 0;
  slowestSeconds = 0;
  /** The longest time from the first to the last failure in a row. */
  silentSeconds = 0;
  readonly #agent: Agent;
  readonly #url: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(url: string, agent: Agent) {
    this.#url = url;
    this.#agent = agent;
    this.#ended = this.#run();
  }

  /** `kubeconfig`: of an administrator. */
  static async start(kubeconfig: SecretString): Promise<AddressPoller> {
    const connection = loadApiServerConnection({ text: kubeconfig });
    const { tls } = await connection.credentials();
    return new AddressPoller(`${connection.server}/readyz`, new Agent({ connect: { ...tls, timeout: 2000 } }));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    if (!this.#agent.closed) await this.#agent.close();
  }

  async #run(): Promise<void> {
    let silentSince: number | undefined;
    while (!this.#stop.signal.aborted) {
      const begin = performance.now();
      const problem = await this.#ask();
      const end = performance.now();
      if (problem === undefined) {
        this.answered += 1;
        this.slowestSeconds = Math.max(this.slowestSeconds, (end - begin) / 1000);
        silentSince = undefined;
      } else {
        this.failures.push(problem);
        silentSince ??= begin;
        this.silentSeconds = Math.max(this.silentSeconds, (end - silentSince) / 1000);
      }
      await pause(50);
    }
  }

  /** The error message, if any. */
  async #ask(): Promise<string | undefined> {
    for (let left = 1; ; left -= 1) {
      try {
        const options = {
          dispatcher: this.#agent,
          reset: true,
          headersTimeout: 2000,
          signal: AbortSignal.timeout(2000),
        };
        const { statusCode, body } = await request(this.#url, options);
        const messages = await body.text();
        return statusCode === 200 ? undefined : `${statusCode} ${messages.slice(0, 100)}`;
      } catch (error) {
        const problem = describeNetworkError(error);
        if (left === 0 || !/ECONNRESET|UND_ERR_SOCKET|EPIPE/.test(problem)) return problem;
        this.broken += 1;
      }
    }
  }
}
