import { waitAtMost, waitOrAbort } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { backoffSeconds } from '../../../lib/resilience/backoff.ts';
import { CircuitBreaker } from '../../../lib/resilience/circuit-breaker.ts';
import { ConcurrencyLimit } from '../../../lib/resilience/concurrency-limit.ts';
import { TrueNasError } from '../error-codes.ts';
import type { Rpc } from './rpc.ts';
import { openTrueNasSession, type TrueNasSession, type TrueNasSessionOptions } from './session.ts';

export interface TrueNasConnectionOptions extends TrueNasSessionOptions {
  readonly log: Log;
  /** Returns a number from 0 to 1 for the jitter of reconnects. */
  readonly random?: (() => number) | undefined;
  /** Aborted when the connection is not needed any more. */
  readonly over: AbortSignal;
  /** Called when it was opened. Must not throw. */
  readonly onOpen?: (rpc: Rpc) => void;
  /** Called when it has ended, closed or broken. Must not throw. */
  readonly onEnd?: (end: { readonly onBroken: boolean }) => void;
}

/**
 * TrueNAS processes ten calls of a connection, queues ten more and refuses the 21st (middleware: rpc.py). Pings and the
 * calls of other clients of the same user need capacity, too.
 */
const maxCallsInFlight = 16;
const idleCloseSeconds = 300;
const backoff = { baseSeconds: 1, capSeconds: 30 };
/** Pause after an error that only a change can fix. */
const refusedPauseSeconds = 60;
/** The close code of a connection that broke without a close frame. */
const noCloseCode = 0;
/** A system that recovers answers faster than this; an unresponsive one takes five times as long to detect. */
const knownProblemSeconds = 3;

/**
 * A shared connection to a system. It opens with the first call, opens again after it broke, and closes after five
 * minutes without calls.
 *
 * After a failed attempt, calls fail at once with the same error until the next attempt is due, so that fifty machines
 * that wait for one system do not overload it when it recovers, and a wrong key is not retried in a loop. One caller
 * waits for the next attempt; the others wait for a few seconds only, so that workers stay free for other systems.
 */
export class TrueNasConnection {
  readonly #options: TrueNasConnectionOptions;
  readonly #limit = new ConcurrencyLimit(maxCallsInFlight);
  readonly #breaker: CircuitBreaker<ProviderError>;
  #calls = 0;
  #session: TrueNasSession | undefined;
  #opening: { readonly session: Promise<TrueNasSession>; readonly since: number } | undefined;
  #lastUse = 0;

  constructor(options: TrueNasConnectionOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#breaker = new CircuitBreaker({
      clock,
      pauseSeconds: (error, failures) =>
        error.retry === 'after-change' ? refusedPauseSeconds : backoffSeconds(failures, { ...backoff, random }),
    });
  }

  /** Number of calls in progress and in the queue. */
  get calls(): number {
    return this.#calls;
  }

  get isOpen(): boolean {
    return this.#session?.rpc.open === true;
  }

  /** Runs a call when a slot is free. */
  async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#calls += 1;
    try {
      return await this.#limit.run(call, signal);
    } finally {
      this.#calls -= 1;
    }
  }

  /** The current session, opened if necessary. */
  async session(signal: AbortSignal): Promise<TrueNasSession> {
    signal.throwIfAborted();
    if (this.#options.over.aborted)
      throw new TrueNasError('TRUENAS_UNREACHABLE', 'The connection was closed by this process.');
    this.#lastUse = this.#options.clock.monotonic();
    if (this.#session?.rpc.open) return this.#session;
    if (this.#opening) return await this.#waitInLine(this.#opening, signal);
    this.#breaker.throwIfOpen((error) => this.#errorOfOthers(error));
    const session = this.#open().finally(() => {
      this.#opening = undefined;
    });
    this.#opening = { session, since: this.#options.clock.monotonic() };
    return await waitOrAbort(session, signal);
  }

  /** Opens it in the background, unless the next attempt is not due. */
  openSeparate(): void {
    if (this.isOpen || this.#opening || this.#breaker.secondsUntilTrial > 0) return;
    const { host } = this.#options.endpoint;
    this.session(this.#options.over).catch((error: unknown) => {
      this.#options.log.debug({ host, err: error }, 'an additional connection to TrueNAS could not be opened');
    });
  }

  /** Waits a second for the close frame of the server. */
  async close(): Promise<void> {
    const rpc = this.#session?.rpc;
    if (!rpc) return;
    rpc.close();
    await waitAtMost(1, rpc.closed, { clock: this.#options.clock });
    rpc.terminate();
  }

  async #waitInLine(
    opening: { session: Promise<TrueNasSession>; since: number },
    signal: AbortSignal,
  ): Promise<TrueNasSession> {
    const { failure } = this.#breaker;
    if (!failure) return await waitOrAbort(opening.session, signal);
    const problem = this.#errorOfOthers(failure);
    const { clock } = this.#options;
    const enough = new AbortController();
    const leftMs = opening.since + knownProblemSeconds * 1000 - clock.monotonic();
    if (leftMs <= 0) throw problem;
    const late = clock.sleep(leftMs, enough.signal).then(() => Promise.reject(problem));
    try {
      return await waitOrAbort(Promise.race([opening.session, late]), signal);
    } finally {
      enough.abort();
      // Lost the race, or the caller has gone.
      late.catch(() => {});
    }
  }

  /** The last error, for callers that make no attempt themselves. */
  #errorOfOthers(error: ProviderError): ProviderError {
    return withRetryAfter(error, this.#breaker.pauseSeconds || knownProblemSeconds);
  }

  async #open(): Promise<TrueNasSession> {
    const { log, endpoint, over } = this.#options;
    try {
      const session = await openTrueNasSession(this.#options, over);
      this.#session = session;
      this.#breaker.recordResponse();
      this.#watch(session);
      this.#options.onOpen?.(session.rpc);
      log.debug({ host: endpoint.host }, 'connected to TrueNAS');
      return session;
    } catch (error) {
      over.throwIfAborted();
      const known =
        error instanceof ProviderError ? error : new TrueNasError('TRUENAS_REPLY_UNKNOWN', '', { cause: error });
      throw withRetryAfter(known, this.#breaker.recordFailure(known));
    }
  }

  /** Removes a session that ended, and closes an idle one. */
  #watch(session: TrueNasSession): void {
    const { clock, log, endpoint } = this.#options;
    const ended = new AbortController();
    session.rpc.closed
      .then((lost) => {
        if (this.#session === session) this.#session = undefined;
        const broke = lost.closeCode === noCloseCode;
        if (broke) this.#breaker.suspect(connectionLostError(endpoint.host));
        this.#options.onEnd?.({ onBroken: broke });
        ended.abort(lost);
        log.debug({ host: endpoint.host, cause: lost.message }, 'connection to TrueNAS ended');
      })
      .catch((error: unknown) => log.error({ err: error }, 'a closed connection could not be handled'));
    const closeWhenIdle = async () => {
      for (;;) {
        await clock.sleep((idleCloseSeconds / 2) * 1000, ended.signal);
        if (clock.monotonic() - this.#lastUse > idleCloseSeconds * 1000) return session.rpc.close();
      }
    };
    // The abort at the end of the session is expected.
    closeWhenIdle().catch(() => {});
  }
}

/** The same error with the seconds until the next attempt. */
function withRetryAfter(error: ProviderError, seconds: number): ProviderError {
  return error.with({ retryAfterSeconds: seconds });
}

const connectionLostError = (host: string) =>
  new TrueNasError('TRUENAS_UNREACHABLE', `${host}: the connection was lost.`);
