import { whenAborted } from '../lib/deadline.ts';
import { backoffSeconds } from '../lib/resilience/backoff.ts';
import type { ClusterEntry, FleetCluster } from './fleet-cluster.ts';
import type { ClusterChangeReason, ClusterState } from './journal.ts';

/** The part of a fleet that a slot uses. */
export interface SlotEnvironment {
  /** Returns a cluster whose caches are filled. Throws if that does not happen in time. */
  start(name: string, entry: ClusterEntry, signal: AbortSignal): Promise<FleetCluster>;
  /** Resolves when every consumer has taken it. */
  engage(cluster: FleetCluster): Promise<void>;
  report(slot: ClusterSlot, state: ClusterState, reason: ClusterChangeReason, error?: unknown): void;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
}

const backoff = { baseSeconds: 1, capSeconds: 60 };

/**
 * The cluster of one name. Changes are made one after the other, the newest one wins, and no other cluster waits for them. A
 * new server is engaged before the old one is let go; another cluster of the same name only after it.
 */
export class ClusterSlot {
  readonly name: string;
  readonly #environment: SlotEnvironment;
  readonly #ended: Promise<void>;
  #wanted: ClusterEntry | undefined;
  #reason: ClusterChangeReason = 'added';
  #current: FleetCluster | undefined;
  #failures = 0;
  #isOver = false;
  /** Aborts with the next change. */
  #change = new AbortController();

  constructor(name: string, entry: ClusterEntry, environment: SlotEnvironment) {
    this.name = name;
    this.#environment = environment;
    this.#wanted = entry;
    this.#ended = this.#follow();
  }

  get id(): string {
    return (this.#current ?? this.#wanted)?.id ?? '';
  }

  get clusterSet(): string | undefined {
    return (this.#current ?? this.#wanted)?.clusterSet;
  }

  /** Undefined until it is engaged. */
  get cluster(): FleetCluster | undefined {
    return this.#current;
  }

  /** Resolves when it is removed, and all its work has ended. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Whether it has ended: it follows no change any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  want(entry: ClusterEntry): void {
    this.#set(entry);
  }

  remove(reason: ClusterChangeReason): void {
    if (this.#wanted === undefined) return;
    this.#reason = reason;
    this.#set(undefined);
  }

  #set(entry: ClusterEntry | undefined): void {
    this.#wanted = entry;
    this.#failures = 0;
    this.#change.abort();
  }

  async #follow(): Promise<void> {
    for (;;) {
      if (this.#change.signal.aborted) this.#change = new AbortController();
      const { signal } = this.#change;
      const wanted = this.#wanted;
      if (wanted === undefined) {
        await this.#letGo(this.#reason);
        if (signal.aborted) continue;
        this.#isOver = true;
        return;
      }
      await this.#attempt(wanted, signal);
    }
  }

  async #attempt(wanted: ClusterEntry, signal: AbortSignal): Promise<void> {
    try {
      await this.#reach(wanted, signal);
      this.#failures = 0;
      await whenAborted(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#failures += 1;
      const reason = error instanceof ConsumerError ? 'consumer-failed' : 'start-failed';
      this.#environment.report(this, 'failed', reason, error instanceof ConsumerError ? error.cause : error);
      await this.#environment.sleep(backoffSeconds(this.#failures, { ...backoff, random: Math.random }), signal);
    }
  }

  async #reach(wanted: ClusterEntry, signal: AbortSignal): Promise<void> {
    const current = this.#current;
    if (current?.id === wanted.id && current.connection.leadsTo(wanted.connection)) {
      if (current.connection.hasCredentialsOf(wanted.connection)) return;
      current.connection.replaceCredentials(wanted.connection);
      return this.#environment.report(this, 'engaged', 'credentials-changed');
    }
    if (current && current.id !== wanted.id) await this.#letGo('other-cluster');
    const reason = this.#current ? 'connection-changed' : 'added';
    this.#environment.report(this, 'syncing', reason);
    const next = await this.#environment.start(this.name, wanted, signal);
    try {
      await this.#environment.engage(next);
    } catch (error) {
      await next.end('consumer-failed');
      throw new ConsumerError(error);
    }
    const before = this.#current;
    this.#current = next;
    this.#environment.report(this, 'engaged', reason);
    await before?.end('connection-changed');
  }

  async #letGo(reason: ClusterChangeReason): Promise<void> {
    const cluster = this.#current;
    this.#current = undefined;
    await cluster?.end(reason);
    this.#environment.report(this, 'gone', reason);
  }
}

class ConsumerError extends Error {
  constructor(cause: unknown) {
    super('A consumer did not take the cluster.', { cause });
  }
}
