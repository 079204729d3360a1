import type { Clock } from '../../lib/clock.ts';
import type { KubeClient } from '../client/client.ts';
import { Lease } from '../core-types.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts';

export interface LeaseClientOptions {
  /** The methods of the client that a Lease needs. */
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process. A pod's name alone is not unique: its container may restart. */
  readonly identity: string;
  /** Time without a renewal after which another candidate takes over. */
  readonly leaseSeconds: number;
  readonly clock: Clock;
}

/** The last observed state of the Lease and the local monotonic time of the observation. */
interface ObservedLease {
  readonly lease: Lease;
  readonly at: number;
}

/**
 * Reads and writes the Lease for one candidate. Every write is conditional on the last observed version, so that one of
 * two candidates wins. {@link Leadership} decides about retries and deadlines.
 */
export class LeaseClient {
  readonly #options: LeaseClientOptions;
  #observed: ObservedLease | undefined;

  constructor(options: LeaseClientOptions) {
    this.#options = options;
  }

  /** The last observed holder of the Lease; `undefined` before the first observation and while the Lease is free. */
  get holder(): string | undefined {
    return this.#observed?.lease.spec?.holderIdentity || undefined;
  }

  async observe(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    const lease = await client.find(Lease, { namespace, name }, signal);
    const isNews = lease?.metadata.resourceVersion !== this.#observed?.lease.metadata.resourceVersion;
    if (!lease) this.#observed = undefined;
    else if (isNews || !this.#observed) this.#record(lease);
    return lease;
  }

  /** Reads the Lease once, and tries once to acquire it when it is free. Returns true on success. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const lease = await this.observe(signal);
    if (!lease) return await this.#create(signal);
    if (!this.#isFree(lease)) return false;
    const spec = { ...this.#claim(), leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 };
    return await this.#write({ ...lease, spec }, signal);
  }

  /**
   * Returns false when another process holds the Lease. After a conflict it reads the Lease again: other clients may
   * write a label.
   */
  async renew(signal: AbortSignal): Promise<boolean> {
    const known = this.#observed?.lease;
    if (known && (await this.#write(this.#renewed(known), signal))) return true;
    const lease = await this.observe(signal);
    if (!lease) return await this.#create(signal);
    if (lease.spec?.holderIdentity !== this.#options.identity) return false;
    return await this.#write(this.#renewed(lease), signal);
  }

  /** Whether this process held the Lease at the last observation. */
  get isOurs(): boolean {
    return this.holder === this.#options.identity;
  }

  /** Releases the Lease if this process held it at the last observation. The next leader need not wait then. */
  async release(signal: AbortSignal): Promise<void> {
    const lease = this.#observed?.lease;
    if (!lease || !this.isOurs) return;
    const renewTime = toMicroTime(this.#options.clock.now());
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime };
    await this.#write({ ...lease, spec }, signal);
  }

  #record(lease: Lease): void {
    this.#observed = { lease, at: this.#options.clock.monotonic() };
  }

  #isFree(lease: Lease): boolean {
    const { identity, leaseSeconds, clock } = this.#options;
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === identity) return true;
    const silentMs = clock.monotonic() - (this.#observed?.at ?? clock.monotonic());
    return silentMs >= (leaseDurationSeconds ?? leaseSeconds) * 1000;
  }

  #claim(): NonNullable<Lease['spec']> {
    const { identity, leaseSeconds, clock } = this.#options;
    const now = toMicroTime(clock.now());
    const leaseDurationSeconds = Math.ceil(leaseSeconds);
    return { holderIdentity: identity, leaseDurationSeconds, acquireTime: now, renewTime: now };
  }

  #renewed(lease: Lease): Lease {
    return { ...lease, spec: { ...lease.spec, renewTime: toMicroTime(this.#options.clock.now()) } };
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const lease: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
      spec: { ...this.#claim(), leaseTransitions: 0 },
    };
    try {
      this.#record(await client.create(Lease, lease, signal));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Returns false when the Lease has changed or was deleted since the observation. */
  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    try {
      this.#record(await this.#options.client.replace(Lease, lease, signal));
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  }
}

/** RFC 3339 with exactly six fraction digits: the API server answers 400 to any other number of them. */
export function toMicroTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
