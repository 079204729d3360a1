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
  readonly #restSeconds: number;
  /** Why the last call got no response, and the time before which there is no trial. */
  #silence: { readonly why: string; readonly until: number } | undefined;
  #isTrying = false;

  constructor(clock: Clock, restSeconds: number) {
    this.#clock = clock;
    this.#restSeconds = restSeconds;
  }

  /** Makes the call, or throws a KubeError of status 0 while the circuit is open. */
  async pass<T>(target: RequestTarget, call: () => Promise<T>): Promise<T> {
    const isTrial = this.#silence !== undefined;
    if (this.#silence) this.#throwIfResting(target, this.#silence);
    this.#isTrying = isTrial;
    try {
      const answer = await call();
      this.#silence = undefined;
      return answer;
    } catch (error) {
      this.#learn(target, error);
      throw error;
    } finally {
      if (isTrial) this.#isTrying = false;
    }
  }

  #throwIfResting(target: RequestTarget, { why, until }: { why: string; until: number }): void {
    const leftMs = until - this.#clock.monotonic();
    if (leftMs <= 0 && !this.#isTrying) return;
    const retryAfterSeconds = Math.max(0, leftMs / 1000);
    throw new KubeError({ ...describeNoResponse(target, 'Unreachable', why), retryAfterSeconds });
  }

  #learn({ method, path }: RequestTarget, error: unknown): void {
    // An abort by the caller reveals nothing about the server.
    if (!(error instanceof KubeError)) return;
    if (!isUnreachable(error)) {
      this.#silence = undefined;
      return;
    }
    const prefix = `${method} ${path}: `;
    // The caller may have aborted this call because of the failure of another one, which is recorded already.
    if (!error.message.startsWith(prefix)) return;
    const why = error.message.slice(prefix.length);
    this.#silence = { why, until: this.#clock.monotonic() + this.#restSeconds * 1000 };
  }
}
