import type { Clock } from '../../lib/clock.ts';
import type { KubeClient } from '../client/client.ts';
import { Lease } from '../core-types.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../errors.ts';

export interface LeaseClientOptions {
  /** The part of the client that a Lease needs. */
  readonly client: Pick<KubeClient, 'find' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process: a pod's name alone is not, its container may restart. */
  readonly identity: string;
  /** How long a holder may be silent before others take over. */
  readonly leaseSeconds: number;
  readonly clock: Clock;
}

/** What was last seen of the Lease, and when, on our own monotonic clock. */
interface ObservedLease {
  readonly lease: Lease;
  readonly at: number;
}

/**
 * The Lease as one contender sees and writes it. Every write is for the version that was seen last, so that of two
 * contenders one wins. When to try again, and for how long, is the business of {@link Leadership}.
 */
export class LeaseClient {
  readonly #options: LeaseClientOptions;
  #sighting: ObservedLease | undefined;

  constructor(options: LeaseClientOptions) {
    this.#options = options;
  }

  /** Who holds the Lease, as last seen; `undefined` before the first look and while nobody does. */
  get holder(): string | undefined {
    return this.#sighting?.lease.spec?.holderIdentity || undefined;
  }

  async look(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    const lease = await client.find(Lease, { namespace, name }, signal);
    const isNews = lease?.metadata.resourceVersion !== this.#sighting?.lease.metadata.resourceVersion;
    if (!lease) this.#sighting = undefined;
    else if (isNews || !this.#sighting) this.#saw(lease);
    return lease;
  }

  /** One look, and one attempt where the Lease is free. True: it is ours. */
  async take(signal: AbortSignal): Promise<boolean> {
    const lease = await this.look(signal);
    if (!lease) return await this.#create(signal);
    if (!this.#isFree(lease)) return false;
    const spec = { ...this.#claim(), leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 };
    return await this.#write({ ...lease, spec }, signal);
  }

  /** False when it is not ours any more. Conflicts are looked into: others may write a label without being leader. */
  async renew(signal: AbortSignal): Promise<boolean> {
    const known = this.#sighting?.lease;
    if (known && (await this.#write(this.#renewed(known), signal))) return true;
    const lease = await this.look(signal);
    if (!lease) return await this.#create(signal);
    if (lease.spec?.holderIdentity !== this.#options.identity) return false;
    return await this.#write(this.#renewed(lease), signal);
  }

  /** As last seen, it is ours. */
  get isOurs(): boolean {
    return this.holder === this.#options.identity;
  }

  /** Gives it back, if it is ours as last seen: nobody has to wait then. */
  async release(signal: AbortSignal): Promise<void> {
    const lease = this.#sighting?.lease;
    if (!lease || !this.isOurs) return;
    const renewTime = toMicroTime(this.#options.clock.now());
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime };
    await this.#write({ ...lease, spec }, signal);
  }

  #saw(lease: Lease): void {
    this.#sighting = { lease, at: this.#options.clock.monotonic() };
  }

  #isFree(lease: Lease): boolean {
    const { identity, leaseSeconds, clock } = this.#options;
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === identity) return true;
    const silence = clock.monotonic() - (this.#sighting?.at ?? clock.monotonic());
    return silence >= (leaseDurationSeconds ?? leaseSeconds) * 1000;
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
      this.#saw(await client.create(Lease, lease, signal));
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** False when somebody else wrote, or deleted it, since we looked. */
  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    try {
      this.#saw(await this.#options.client.replace(Lease, lease, signal));
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
