import type { Clock } from '../../lib/clock.ts';
import { addExpiryCheck, createLinkedController } from '../../lib/deadline.ts';
import type { Log } from '../../lib/log.ts';
import { ProblemLog } from '../../lib/problem-log.ts';
import { isForbidden, isUnauthorized } from '../errors.ts';
import { LeaseClient, type LeaseClientOptions } from './lease-client.ts';

export interface LeadershipOptions extends Omit<LeaseClientOptions, 'leaseSeconds'> {
  /** Time without a renewal after which another candidate takes over; default 15. */
  readonly leaseSeconds?: number;
  readonly log: Log;
}

/** The reason of a signal that aborts because leadership is lost. */
export class LeadershipLostError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LeadershipLost';
  }
}

/**
 * Leader election on a Lease. The holder renews at a third of the lease duration and stops leading at two thirds. A
 * candidate takes over after a full lease duration without a change. Both durations are measured on the local monotonic
 * clock, so that neither clock skew nor a jump of the wall clock causes two leaders.
 */
export class Leadership {
  readonly #lease: LeaseClient;
  readonly #leaseSeconds: number;
  readonly #clock: Clock;
  readonly #log: Log;
  #isLeader = false;
  /** Monotonic time since which this process is known to hold the Lease. */
  #heldSince = 0;

  constructor(options: LeadershipOptions) {
    this.#leaseSeconds = options.leaseSeconds ?? 15;
    this.#lease = new LeaseClient({ ...options, leaseSeconds: this.#leaseSeconds });
    this.#clock = options.clock;
    this.#log = options.log.child({ lease: `${options.namespace}/${options.name}`, identity: options.identity });
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** The last observed holder of the Lease; `undefined` before the first observation and while the Lease is free. */
  get holder(): string | undefined {
    return this.#lease.holder;
  }

  /**
   * Waits for the Lease, then runs `lead` under a signal that aborts with `signal` or, at once, on lost leadership.
   * Work that `lead` finishes in order after `signal` runs under `tenure`, which aborts only on lost leadership. Both
   * signals are guarded: no work starts under them once another process may hold the Lease, even when no timer has
   * fired since.
   *
   * `ended`: `signal` aborted or `lead` returned, and the Lease was released. `lost`: another process may lead now, and
   * `lead` was aborted. `run` returns at most a third of the lease duration later, even when `lead` has not ended: the
   * process should exit. An error from `lead` is rethrown.
   */
  async run(
    signal: AbortSignal,
    lead: (signal: AbortSignal, leadership: AbortSignal) => Promise<void>,
  ): Promise<'lost' | 'ended'> {
    if (!(await this.#acquire(signal))) return 'ended';
    this.#isLeader = true;
    this.#log.info({}, 'leading');
    const leadership = new AbortController();
    addExpiryCheck(leadership.signal, () => {
      if (this.#leftMs() <= 0) leadership.abort(renewalTimeout());
    });
    const leader = createLinkedController(leadership.signal);
    const onAbort = () => leader.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const over = new AbortController();
    const leading = (async () => await lead(leader.signal, leadership.signal))();
    const stop = () => over.abort();
    leading.then(stop, stop);
    try {
      const lost = (await this.#hold(over.signal)) ?? lossReason(leadership.signal);
      this.#isLeader = false;
      if (!lost) return await this.#end(leading);
      this.#log.error({ error: lost.message }, 'leadership is lost');
      leadership.abort(lost);
      await this.#renewTimeout(leading);
      return 'lost';
    } finally {
      this.#isLeader = false;
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves with true when this process holds the Lease, with false when the signal aborted first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    let known: string | undefined;
    const problems = new ProblemLog(this.#log, 'the lease cannot be acquired', 'the lease can be read again');
    while (!signal.aborted) {
      const startedAt = this.#clock.monotonic();
      try {
        if (await this.#withDeadline(this.#leaseSeconds / 3, signal, (s) => this.#lease.acquire(s))) {
          this.#heldSince = startedAt;
          return true;
        }
        problems.succeeded();
      } catch (error) {
        if (signal.aborted) await this.#releaseIfUnknown();
        else problems.failed({ error: messageOf(error) });
      }
      if (this.holder !== known) this.#log.info({ holder: this.holder }, 'waiting for the leader');
      known = this.holder;
      await this.#pause(this.#leaseSeconds / 7.5, signal);
    }
    return false;
  }

  /** Milliseconds until leadership ends without another renewal. */
  #leftMs(): number {
    return this.#heldSince + (this.#leaseSeconds * 1000 * 2) / 3 - this.#clock.monotonic();
  }

  /**
   * Renews until `over` aborts, and then returns undefined. Returns the error when the Lease is lost. One attempt gets
   * only a part of the remaining time: its connection may be dead, and the next attempt opens a new one.
   */
  async #hold(over: AbortSignal): Promise<LeadershipLostError | undefined> {
    let nextSeconds = this.#leaseSeconds / 3;
    let problem: unknown;
    const problems = new ProblemLog(this.#log, 'the lease cannot be renewed', 'the lease is renewed again');
    while (!over.aborted) {
      await this.#pause(Math.min(this.#leftMs() / 1000, nextSeconds), over);
      if (over.aborted) return undefined;
      const leftMs = this.#leftMs();
      if (leftMs <= 0) return renewalTimeout(problem);
      const startedAt = this.#clock.monotonic();
      try {
        const seconds = Math.min(leftMs / 1000, this.#leaseSeconds / 5);
        if (!(await this.#withDeadline(seconds, over, (s) => this.#lease.renew(s)))) {
          return new LeadershipLostError(`the lease is held by ${this.holder ?? 'nobody'}`);
        }
        this.#heldSince = startedAt;
        problem = undefined;
        problems.succeeded();
        nextSeconds = this.#leaseSeconds / 3;
      } catch (error) {
        if (over.aborted) return undefined;
        problem = error;
        nextSeconds = this.#leaseSeconds / 15 - (this.#clock.monotonic() - startedAt) / 1000;
        problems.failed({ error: messageOf(error) });
      }
    }
    return undefined;
  }

  async #end(leading: Promise<void>): Promise<'ended'> {
    try {
      await leading;
      return 'ended';
    } finally {
      await this.#release();
    }
  }

  /** Releases the Lease, so that the next leader starts at once. Best effort: after a failure the next leader waits. */
  async #release(): Promise<void> {
    if (!this.#lease.isOurs) return;
    try {
      await this.#withDeadline(this.#leaseSeconds / 3, undefined, (s) => this.#lease.release(s));
      this.#log.info({}, 'the lease is released');
    } catch (error) {
      // `helm uninstall` removes the permissions before the Pods have ended. The Lease expires by itself then.
      if (isForbidden(error) || isUnauthorized(error))
        this.#log.info({}, 'the lease expires: the permission to write it was removed');
      else this.#log.warn({ error: messageOf(error) }, 'the lease cannot be released');
    }
  }

  /** The API server may have carried out an aborted call: the next leader would then wait for a lease duration. */
  async #releaseIfUnknown(): Promise<void> {
    try {
      await this.#withDeadline(this.#leaseSeconds / 3, undefined, (s) => this.#lease.observe(s));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'it is unknown whether the lease was acquired');
    }
    await this.#release();
  }

  async #renewTimeout(leading: Promise<void>): Promise<void> {
    const stop = new AbortController();
    await Promise.race([leading.catch(() => {}), this.#pause(this.#leaseSeconds / 3, stop.signal)]);
    stop.abort();
  }

  /** Runs a call with a deadline of `seconds` on the injected clock. */
  async #withDeadline<T>(
    seconds: number,
    parent: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limit = new AbortController();
    const onAbort = () => limit.abort(parent?.reason);
    parent?.addEventListener('abort', onAbort, { once: true });
    if (parent?.aborted) onAbort();
    const late = new DOMException('the request to the API server timed out', 'TimeoutError');
    const timer = this.#clock.sleep(seconds * 1000, limit.signal).then(
      () => limit.abort(late),
      () => {},
    );
    try {
      return await call(limit.signal);
    } finally {
      parent?.removeEventListener('abort', onAbort);
      limit.abort();
      await timer;
    }
  }

  async #pause(seconds: number, signal: AbortSignal): Promise<void> {
    // The sleep rejects only when the signal aborts, which every loop checks next.
    await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}

/** The loss that an expiry check detected before the renewal loop. */
const lossReason = ({ reason }: AbortSignal): LeadershipLostError | undefined =>
  reason instanceof LeadershipLostError ? reason : undefined;

const renewalTimeout = (cause?: unknown): LeadershipLostError =>
  new LeadershipLostError('the lease could not be renewed in time', { cause });

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
