import type { Clock } from '../../lib/clock.ts';
import { describeNoResponse } from '../client/api-status.ts';
import { isUnreachable, KubeError } from '../errors.ts';
import type { RequestTarget } from './transport.ts';

/**
 * Keeps those who want something of a server that does not answer from waiting for it one after the other: they would hold
 * up others who want nothing of it. After a call without an answer the rest fail at once with the same words, but for one
 * at a time that tries again after a while. The first answer, whatever it says, ends that.
 */
export class KubeCircuitBreaker {
  readonly #clock: Clock;
  readonly #restSeconds: number;
  /** Why the last call got no answer, and until when nobody tries. */
  #silence: { readonly why: string; readonly until: number } | undefined;
  #isTrying = false;

  constructor(clock: Clock, restSeconds: number) {
    this.#clock = clock;
    this.#restSeconds = restSeconds;
  }

  /** Makes the call, or throws a KubeError of status 0 in its place. */
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
    // What ended by the wish of the caller says nothing about the server.
    if (!(error instanceof KubeError)) return;
    if (!isUnreachable(error)) {
      this.#silence = undefined;
      return;
    }
    const prefix = `${method} ${path}: `;
    // The caller may have ended this call because of another one: that one has told, and each is told once.
    if (!error.message.startsWith(prefix)) return;
    const why = error.message.slice(prefix.length);
    this.#silence = { why, until: this.#clock.monotonic() + this.#restSeconds * 1000 };
  }
}
