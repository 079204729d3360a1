import type { Clock } from '../../lib/clock.ts';
import { describeNoResponse } from '../client/api-status.ts';
import { isUnreachable, KubeError } from '../errors.ts';
import type { RequestTarget } from './request.ts';

/**
 * Prevents callers from waiting one after the other for an API server that does not respond, which would delay work on
 * other clusters. After a call without a response the other calls fail at once with the same message, except for one
 * trial call at a time after a delay. The first response, whatever its status, closes the circuit.
 */
export class KubeCircuitBreaker {
  readonly #clock: Clock;
  readonly #openSeconds: number;
  /** Why the last call got no response, and the time before which there is no trial. */
  #lastFailure: { readonly reason: string; readonly until: number } | undefined;
  #isProbing = false;

  constructor(clock: Clock, openSeconds: number) {
    this.#clock = clock;
    this.#openSeconds = openSeconds;
  }

  /** Makes the call, or throws a KubeError of status 0 while the circuit is open. */
  async pass<T>(target: RequestTarget, call: () => Promise<T>): Promise<T> {
    const isTrial = this.#lastFailure !== undefined;
    if (this.#lastFailure) this.#throwIfResting(target, this.#lastFailure);
    this.#isProbing = isTrial;
    try {
      const answer = await call();
      this.#lastFailure = undefined;
      return answer;
    } catch (error) {
      this.#learn(target, error);
      throw error;
    } finally {
      if (isTrial) this.#isProbing = false;
    }
  }

  #throwIfResting(target: RequestTarget, { reason: why, until }: { reason: string; until: number }): void {
    const leftMs = until - this.#clock.monotonic();
    if (leftMs <= 0 && !this.#isProbing) return;
    const retryAfterSeconds = Math.max(0, leftMs / 1000);
    throw new KubeError({ ...describeNoResponse(target, 'Unreachable', why), retryAfterSeconds });
  }

  #learn({ method, path }: RequestTarget, error: unknown): void {
    // An abort by the caller reveals nothing about the server.
    if (!(error instanceof KubeError)) return;
    if (!isUnreachable(error)) {
      this.#lastFailure = undefined;
      return;
    }
    const prefix = `${method} ${path}: `;
    // The caller may have aborted this call because of the failure of another one, which is recorded already.
    if (!error.message.startsWith(prefix)) return;
    const reason = error.message.slice(prefix.length);
    this.#lastFailure = { reason, until: this.#clock.monotonic() + this.#openSeconds * 1000 };
  }
}
