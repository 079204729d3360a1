import type { Clock } from '../../lib/clock.ts';
import { addExpiryCheck, createLinkedController } from '../../lib/deadline.ts';
import type { Log } from '../../lib/log.ts';
import { isForbidden, isUnauthorized } from '../errors.ts';
import { LeaseClient, type LeaseClientOptions } from './lease-client.ts';

export interface LeadershipOptions extends Omit<LeaseClientOptions, 'leaseSeconds'> {
  /** How long a holder may be silent before others take over; default 15. */
  readonly leaseSeconds?: number;
  readonly log: Log;
}

/** The reason of a signal that ended because leadership was lost. */
export class LeadershipLostError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LeadershipLost';
  }
}

/**
 * Leader election on a Lease. The holder renews at a third of the lease time and gives up at two thirds; others take
 * over when they have seen no change for the whole of it. Both are measured on the local monotonic clock, so that
 * neither clock skew nor a jump of the wall clock makes two leaders.
 */
export class Leadership {
  readonly #lease: LeaseClient;
  readonly #leaseSeconds: number;
  readonly #clock: Clock;
  readonly #log: Log;
  #isLeader = false;
  /** Monotonic time from which on the Lease is known to be ours. */
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

  /** Who holds the Lease, as last seen; `undefined` before the first look and while nobody does. */
  get holder(): string | undefined {
    return this.#lease.holder;
  }

  /**
   * Waits for the Lease, then runs `lead` under a signal that ends with `signal` or, at once, with the leadership; what
   * `lead` still has to finish in order after `signal` runs under `tenure`, which ends with the leadership alone. Both
   * are guarded: nothing is begun under them once the Lease may be somebody else's, even when no timer has run since.
   * `ended`: `signal` ended or `lead` returned, and the Lease was given back. `lost`: somebody else may lead now;
   * `lead` was told to stop, and if it has not within a third of the lease time we do not wait any longer: the process
   * should exit. What `lead` throws is thrown.
   */
  async run(
    signal: AbortSignal,
    lead: (signal: AbortSignal, tenure: AbortSignal) => Promise<void>,
  ): Promise<'lost' | 'ended'> {
    if (!(await this.#acquire(signal))) return 'ended';
    this.#isLeader = true;
    this.#log.info({}, 'leading');
    const tenure = new AbortController();
    addExpiryCheck(tenure.signal, () => {
      if (this.#leftMs() <= 0) tenure.abort(renewalTimeout());
    });
    const reign = createLinkedController(tenure.signal);
    const onAbort = () => reign.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const over = new AbortController();
    const leading = (async () => await lead(reign.signal, tenure.signal))();
    const stop = () => over.abort();
    leading.then(stop, stop);
    try {
      const lost = (await this.#hold(over.signal)) ?? lossReason(tenure.signal);
      this.#isLeader = false;
      if (!lost) return await this.#end(leading);
      this.#log.error({ error: lost.message }, 'leadership is lost');
      tenure.abort(lost);
      await this.#patience(leading);
      return 'lost';
    } finally {
      this.#isLeader = false;
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Until the Lease is ours; false when the signal ended first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    let known: string | undefined;
    while (!signal.aborted) {
      const startedAt = this.#clock.monotonic();
      try {
        if (await this.#within(this.#leaseSeconds / 3, signal, (s) => this.#lease.take(s))) {
          this.#heldSince = startedAt;
          return true;
        }
      } catch (error) {
        if (signal.aborted) await this.#releaseInDoubt();
        else this.#log.warn({ error: messageOf(error) }, 'the lease cannot be taken');
      }
      if (this.holder !== known) this.#log.info({ holder: this.holder }, 'waiting for the leader');
      known = this.holder;
      await this.#pause(this.#leaseSeconds / 7.5, signal);
    }
    return false;
  }

  /** How long we may go on without another renewal. */
  #leftMs(): number {
    return this.#heldSince + (this.#leaseSeconds * 1000 * 2) / 3 - this.#clock.monotonic();
  }

  /**
   * Renews until `over`, and then returns nothing; or until the Lease is lost, and then returns why. One attempt does
   * not get all the time that is left: its connection may be a dead one, and the next attempt makes a new one.
   */
  async #hold(over: AbortSignal): Promise<LeadershipLostError | undefined> {
    let nextSeconds = this.#leaseSeconds / 3;
    let trouble: unknown;
    while (!over.aborted) {
      await this.#pause(Math.min(this.#leftMs() / 1000, nextSeconds), over);
      if (over.aborted) return undefined;
      const leftMs = this.#leftMs();
      if (leftMs <= 0) return renewalTimeout(trouble);
      const startedAt = this.#clock.monotonic();
      try {
        const seconds = Math.min(leftMs / 1000, this.#leaseSeconds / 5);
        if (!(await this.#within(seconds, over, (s) => this.#lease.renew(s)))) {
          return new LeadershipLostError(`the lease is held by ${this.holder ?? 'nobody'}`);
        }
        this.#heldSince = startedAt;
        trouble = undefined;
        nextSeconds = this.#leaseSeconds / 3;
      } catch (error) {
        if (over.aborted) return undefined;
        trouble = error;
        nextSeconds = this.#leaseSeconds / 15 - (this.#clock.monotonic() - startedAt) / 1000;
        this.#log.warn({ error: messageOf(error) }, 'the lease cannot be renewed');
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

  /** Gives the Lease back, so that the next leader need not wait. It is only a courtesy: failure costs that wait. */
  async #release(): Promise<void> {
    if (!this.#lease.isOurs) return;
    try {
      await this.#within(this.#leaseSeconds / 3, undefined, (s) => this.#lease.release(s));
      this.#log.info({}, 'the lease is given back');
    } catch (error) {
      // Who uninstalls a release takes its rights before its Pods have ended. The Lease ends by itself then.
      if (isForbidden(error) || isUnauthorized(error))
        this.#log.info({}, 'the lease ends by itself: we may not write it any more');
      else this.#log.warn({ error: messageOf(error) }, 'the lease cannot be given back');
    }
  }

  /** A call that was cut off may have been carried out all the same: then nobody would know that we are gone. */
  async #releaseInDoubt(): Promise<void> {
    try {
      await this.#within(this.#leaseSeconds / 3, undefined, (s) => this.#lease.look(s));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'it is not known whether the lease was taken');
    }
    await this.#release();
  }

  async #patience(leading: Promise<void>): Promise<void> {
    const stop = new AbortController();
    await Promise.race([leading.catch(() => {}), this.#pause(this.#leaseSeconds / 3, stop.signal)]);
    stop.abort();
  }

  /** Runs a call that has to be over after `seconds` of our clock. */
  async #within<T>(
    seconds: number,
    parent: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limit = new AbortController();
    const onAbort = () => limit.abort(parent?.reason);
    parent?.addEventListener('abort', onAbort, { once: true });
    if (parent?.aborted) onAbort();
    const late = new DOMException('the API server did not answer in time', 'TimeoutError');
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
    // Rejects only when the signal aborts, which every loop looks at next.
    await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
  }
}

/** The loss that a guard found out before we did. */
const lossReason = ({ reason }: AbortSignal): LeadershipLostError | undefined =>
  reason instanceof LeadershipLostError ? reason : undefined;

const renewalTimeout = (cause?: unknown): LeadershipLostError =>
  new LeadershipLostError('the lease could not be renewed in time', { cause });

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
