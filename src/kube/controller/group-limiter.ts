import { LruMap } from '../../lib/lru-map.ts';
import type { Priority } from './priority-queue.ts';

/** A key that is ready to be reconciled. */
export interface ReadyKey {
  readonly key: string;
  readonly priority: Priority;
  readonly since: number;
}

export interface GroupOptions {
  /** The group of a key: keys of one group can block each other, e.g. the keys of one cluster. */
  readonly groupOf: (key: string) => string;
  /** Whether a slow group gets few workers until it becomes faster. Default: no. */
  readonly limitsSlowGroups?: boolean;
}

/** A group is slow when its reconciles take more seconds than this on the moving average. */
const slowGroupSeconds = 5;
/** Maximum number of groups in the cache of durations. An evicted group counts as fast. */
const maxRememberedGroups = 5000;

/**
 * Limits the workers of each group: one group never occupies all workers, and a slow group gets few. Keys that wait for
 * their group are held here, so that they do not block keys of other groups.
 */
export class GroupLimiter {
  readonly #groupOf: (key: string) => string;
  readonly #maxRunning: number;
  readonly #maxRunningSlow: number | undefined;
  readonly #working = new Map<string, number>();
  readonly #held = new Map<string, Map<string, ReadyKey>>();
  readonly #seconds = new LruMap<string, number>(maxRememberedGroups);
  /** The group at the start of a key's work: the group of a key can change before the work ends. */
  readonly #groups = new Map<string, string>();
  /** The group that holds a waiting key. */
  readonly #holders = new Map<string, string>();

  constructor({ groupOf, limitsSlowGroups = false }: GroupOptions, concurrency: number) {
    this.#groupOf = groupOf;
    this.#maxRunning = Math.max(1, Math.floor((concurrency * 3) / 4));
    this.#maxRunningSlow = limitsSlowGroups ? Math.max(1, Math.floor(concurrency / 8)) : undefined;
  }

  /** Number of keys that wait for their group. */
  get size(): number {
    return this.#holders.size;
  }

  has(key: string): boolean {
    return this.#holders.has(key);
  }

  /** Admits a key, or holds it until the group has a free worker. */
  begin(ready: ReadyKey): boolean {
    const group = this.#groupOf(ready.key);
    const working = this.#working.get(group) ?? 0;
    if (working >= this.#maxRunningOf(group)) {
      this.#hold(group, ready);
      return false;
    }
    this.#working.set(group, working + 1);
    this.#groups.set(ready.key, group);
    return true;
  }

  /** Raises the priority of a held key. Returns false when the key is not held here. */
  setLimit(key: string, priority: Priority): boolean {
    const held = this.#held.get(this.#holders.get(key) ?? '');
    const known = held?.get(key);
    if (!held || !known) return false;
    if (priority === 'high') held.set(key, { ...known, priority });
    return true;
  }

  /** Ends the work on a key. Returns the held keys that can start now. */
  end(key: string, seconds: number): readonly ReadyKey[] {
    const group = this.#groups.get(key);
    if (group === undefined) return [];
    this.#groups.delete(key);
    const left = (this.#working.get(group) ?? 1) - 1;
    if (left > 0) this.#working.set(group, left);
    else this.#working.delete(group);
    if (this.#maxRunningSlow !== undefined)
      this.#seconds.set(group, ((this.#seconds.get(group) ?? seconds) + seconds) / 2);
    return this.#release(group, this.#maxRunningOf(group) - left);
  }

  #maxRunningOf(group: string): number {
    const isSlow = (this.#seconds.get(group) ?? 0) > slowGroupSeconds;
    return (isSlow ? this.#maxRunningSlow : undefined) ?? this.#maxRunning;
  }

  #hold(group: string, ready: ReadyKey): void {
    const held = this.#held.get(group) ?? new Map<string, ReadyKey>();
    this.#held.set(group, held.set(ready.key, ready));
    this.#holders.set(ready.key, group);
  }

  #release(group: string, count: number): readonly ReadyKey[] {
    const held = this.#held.get(group);
    if (!held) return [];
    const released: ReadyKey[] = [];
    for (const [key, ready] of held) {
      if (released.length >= count) break;
      held.delete(key);
      this.#holders.delete(key);
      released.push(ready);
    }
    if (held.size === 0) this.#held.delete(group);
    return released;
  }
}
