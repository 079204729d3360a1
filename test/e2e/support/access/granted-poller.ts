import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { describeNetworkError } from '../../../../src/kube/client/api-status.ts';
import { loadApiServerConnection } from '../../../../src/kube/transport/api-server-connection.ts';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import type { Testbed } from '../testbed/testbed.ts';
import { grantedKubeconfig } from './workload-cluster.ts';

/** A busy machine answers late, which is no failure. */
const timeoutMs = 20_000;

/**
 * A client with the access of a request, which reads its Secret again before each call and uses a new connection for each. A
 * connection that breaks is retried once, as Go's HTTP client does; a certificate that is not trusted, or a token that is not
 * accepted, is a failure.
 */
export class GrantedPoller {
  readonly failures: string[] = [];
  answered = 0;
  readonly #read: () => Promise<string>;
  readonly #path: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  /** `path`: what the request may read. */
  constructor(testbed: Testbed, ref: NamespacedRef, path: string) {
    this.#read = () => grantedKubeconfig(testbed, ref);
    this.#path = path;
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const problem = await this.#ask(await this.#read());
      if (problem === undefined) this.answered += 1;
      else this.failures.push(problem);
      await pause(50);
    }
  }

  async #ask(kubeconfig: string): Promise<string | undefined> {
    const { server, credentials } = loadApiServerConnection({ text: new SecretString(kubeconfig) });
    const { tls, headers } = await credentials();
    const agent = new Agent({ connect: { ...tls, timeout: timeoutMs } });
    try {
      for (let left = 1; ; left -= 1) {
        try {
          const options = { dispatcher: agent, headers, signal: AbortSignal.timeout(timeoutMs) };
          const { statusCode, body } = await request(`${server}${this.#path}`, options);
          const text = await body.text();
          return statusCode === 200 ? undefined : `${statusCode} ${text.slice(0, 100)}`;
        } catch (error) {
          const problem = describeNetworkError(error);
          if (left === 0 || !/ECONNRESET|UND_ERR_SOCKET|EPIPE/.test(problem)) return problem;
        }
      }
    } finally {
      await agent.close();
    }
  }
}
