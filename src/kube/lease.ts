import type { Clock } from '../lib/clock.ts';
import { guard, linkedTo } from '../lib/deadline.ts';
import type { Log } from '../lib/log.ts';
import type { KubeClient } from './client.ts';
import { Lease } from './core-types.ts';
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts';

export interface LeadershipOptions {
  /** The part of the client that a Lease needs. */
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process: a pod's name alone is not, its container may restart. */
  readonly identity: string;
  /** How long a holder may be silent before others take over; default 15. */
  readonly leaseSeconds?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** The reason of a signal that ended because leadership was lost. */
export class LeadershipLost extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LeadershipLost';
  }
}

/** What was last seen of the Lease, and when, on our own monotonic clock. */
interface Sighting {
  readonly lease: Lease;
  readonly at: number;
}

/**
 * Leader election on a Lease. The holder renews at a third of the lease time and gives up at two thirds; others take
 * over when they have seen no change for the whole of it. Both are measured on the local monotonic clock, so that
 * neither clock skew nor a jump of the wall clock makes two leaders.
 */
export class Leadership {
  readonly #client: LeadershipOptions['client'];
  readonly #namespace: string;
  readonly #name: string;
  readonly #identity: string;
  readonly #leaseSeconds: number;
  readonly #clock: Clock;
  readonly #log: Log;
  #sighting: Sighting | undefined;
  #isLeader = false;
  /** Monotonic time from which on the Lease is known to be ours. */
  #heldSince = 0;

  constructor(options: LeadershipOptions) {
    this.#client = options.client;
    this.#namespace = options.namespace;
    this.#name = options.name;
    this.#identity = options.identity;
    this.#leaseSeconds = options.leaseSeconds ?? 15;
    this.#clock = options.clock;
    this.#log = options.log.child({ lease: `${options.namespace}/${options.name}`, identity: options.identity });
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** Who holds the Lease, as last seen; `undefined` before the first look and while nobody does. */
  get holder(): string | undefined {
    return this.#sighting?.lease.spec?.holderIdentity || undefined;
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
    guard(tenure.signal, () => {
      if (this.#leftMs() <= 0) tenure.abort(tooLate());
    });
    const reign = linkedTo(tenure.signal);
    const onAbort = () => reign.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const over = new AbortController();
    const leading = (async () => await lead(reign.signal, tenure.signal))();
    const stop = () => over.abort();
    leading.then(stop, stop);
    try {
      const lost = (await this.#hold(over.signal)) ?? lossOf(tenure.signal);
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
        if (await this.#within(this.#leaseSeconds / 3, signal, (s) => this.#try(s))) {
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

  /** One look, and one attempt where the Lease is free. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const lease = await this.#look(signal);
    if (!lease) return await this.#create(signal);
    if (!this.#isFree(lease)) return false;
    const spec = { ...this.#claim(), leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 };
    return await this.#write({ ...lease, spec }, signal);
  }

  async #look(signal: AbortSignal): Promise<Lease | undefined> {
    const lease = await this.#client.find(Lease, { namespace: this.#namespace, name: this.#name }, signal);
    const isNews = lease?.metadata.resourceVersion !== this.#sighting?.lease.metadata.resourceVersion;
    if (!lease) this.#sighting = undefined;
    else if (isNews || !this.#sighting) this.#saw(lease);
    return lease;
  }

  #saw(lease: Lease): void {
    this.#sighting = { lease, at: this.#clock.monotonic() };
  }

  #isFree(lease: Lease): boolean {
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === this.#identity) return true;
    const silence = this.#clock.monotonic() - (this.#sighting?.at ?? this.#clock.monotonic());
    return silence >= (leaseDurationSeconds ?? this.#leaseSeconds) * 1000;
  }

  #claim(): NonNullable<Lease['spec']> {
    const now = microTime(this.#clock.now());
    return {
      holderIdentity: this.#identity,
      leaseDurationSeconds: Math.ceil(this.#leaseSeconds),
      acquireTime: now,
      renewTime: now,
    };
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: this.#namespace, name: this.#name },
      spec: { ...this.#claim(), leaseTransitions: 0 },
    };
    try {
      this.#saw(await this.#client.create(Lease, lease, signal));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** False when somebody else wrote, or deleted it, since we looked. */
  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    try {
      this.#saw(await this.#client.replace(Lease, lease, signal));
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  }

  /** How long we may go on without another renewal. */
  #leftMs(): number {
    return this.#heldSince + (this.#leaseSeconds * 1000 * 2) / 3 - this.#clock.monotonic();
  }

  /**
   * Renews until `over`, and then returns nothing; or until the Lease is lost, and then returns why. One attempt does
   * not get all the time that is left: its connection may be a dead one, and the next attempt makes a new one.
   */
  async #hold(over: AbortSignal): Promise<LeadershipLost | undefined> {
    let nextSeconds = this.#leaseSeconds / 3;
    let trouble: unknown;
    while (!over.aborted) {
      await this.#pause(Math.min(this.#leftMs() / 1000, nextSeconds), over);
      if (over.aborted) return undefined;
      const leftMs = this.#leftMs();
      if (leftMs <= 0) return tooLate(trouble);
      const startedAt = this.#clock.monotonic();
      try {
        const seconds = Math.min(leftMs / 1000, this.#leaseSeconds / 5);
        if (!(await this.#within(seconds, over, (s) => this.#renew(s)))) {
          return new LeadershipLost(`the lease is held by ${this.holder ?? 'nobody'}`);
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

  /** False when it is not ours any more. Conflicts are looked into: others may write a label without being leader. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const known = this.#sighting?.lease;
    if (known && (await this.#write(this.#renewed(known), signal))) return true;
    const lease = await this.#look(signal);
    if (!lease) return await this.#create(signal);
    if (lease.spec?.holderIdentity !== this.#identity) return false;
    return await this.#write(this.#renewed(lease), signal);
  }

  #renewed(lease: Lease): Lease {
    return { ...lease, spec: { ...lease.spec, renewTime: microTime(this.#clock.now()) } };
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
    const lease = this.#sighting?.lease;
    if (lease?.spec?.holderIdentity !== this.#identity) return;
    const spec = {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: microTime(this.#clock.now()),
    };
    try {
      await this.#within(this.#leaseSeconds / 3, undefined, (s) => this.#write({ ...lease, spec }, s));
      this.#log.info({}, 'the lease is given back');
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the lease cannot be given back');
    }
  }

  /** A call that was cut off may have been carried out all the same: then nobody would know that we are gone. */
  async #releaseInDoubt(): Promise<void> {
    try {
      await this.#within(this.#leaseSeconds / 3, undefined, (s) => this.#look(s));
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
const lossOf = ({ reason }: AbortSignal): LeadershipLost | undefined =>
  reason instanceof LeadershipLost ? reason : undefined;

const tooLate = (cause?: unknown): LeadershipLost =>
  new LeadershipLost('the lease could not be renewed in time', { cause });

/** RFC 3339 with exactly six fraction digits: the API server answers 400 to any other number of them. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
