import { LruMap } from '../../lib/lru-map.ts';
import type { Priority } from './priority-queue.ts';

/** A key that is ready. */
export interface ReadyKey {
  readonly key: string;
  readonly lane: Priority;
  readonly since: number;
}

export interface GroupOptions {
  /** What keys have in common that may hold them all up, e.g. the cluster that they are about. */
  readonly groupOf: (key: string) => string;
  /** Whether a group that takes long gets few workers until it is quicker. Default: no. */
  readonly curbsSlow?: boolean;
}

/** A group of more seconds for a key, on the average of the last ones, takes long. */
const slowGroupSeconds = 5;
/** So many groups are remembered with their times; one that is forgotten counts as quick. */
const maxRememberedGroups = 5000;

/**
 * Leaves workers to others: one group never has all of them, and one that takes long has few. Keys that have to wait for others
 * of their group wait here, so that they do not stand before those of others.
 */
export class GroupLimiter {
  readonly #groupOf: (key: string) => string;
  readonly #most: number;
  readonly #mostOfSlow: number | undefined;
  readonly #working = new Map<string, number>();
  readonly #held = new Map<string, Map<string, ReadyKey>>();
  readonly #seconds = new LruMap<string, number>(maxRememberedGroups);
  /** The group that a key was begun with: it may be in another by its end. */
  readonly #groups = new Map<string, string>();
  /** Which group holds a key. */
  readonly #holders = new Map<string, string>();

  constructor({ groupOf, curbsSlow = false }: GroupOptions, concurrency: number) {
    this.#groupOf = groupOf;
    this.#most = Math.max(1, Math.floor((concurrency * 3) / 4));
    this.#mostOfSlow = curbsSlow ? Math.max(1, Math.floor(concurrency / 8)) : undefined;
  }

  /** Keys that wait for others of their group. */
  get size(): number {
    return this.#holders.size;
  }

  has(key: string): boolean {
    return this.#holders.has(key);
  }

  /** Begins with a key, or keeps it until others of its group have ended. */
  begin(ready: ReadyKey): boolean {
    const group = this.#groupOf(ready.key);
    const working = this.#working.get(group) ?? 0;
    if (working >= this.#mostOf(group)) {
      this.#hold(group, ready);
      return false;
    }
    this.#working.set(group, working + 1);
    this.#groups.set(ready.key, group);
    return true;
  }

  /** Somebody asks for a key that waits here. False: it does not. */
  raise(key: string, lane: Priority): boolean {
    const held = this.#held.get(this.#holders.get(key) ?? '');
    const known = held?.get(key);
    if (!held || !known) return false;
    if (lane === 'prompt') held.set(key, { ...known, lane });
    return true;
  }

  /** Those that may begin now that this one has ended. */
  end(key: string, seconds: number): readonly ReadyKey[] {
    const group = this.#groups.get(key);
    if (group === undefined) return [];
    this.#groups.delete(key);
    const left = (this.#working.get(group) ?? 1) - 1;
    if (left > 0) this.#working.set(group, left);
    else this.#working.delete(group);
    if (this.#mostOfSlow !== undefined) this.#seconds.set(group, ((this.#seconds.get(group) ?? seconds) + seconds) / 2);
    return this.#release(group, this.#mostOf(group) - left);
  }

  #mostOf(group: string): number {
    const isSlow = (this.#seconds.get(group) ?? 0) > slowGroupSeconds;
    return (isSlow ? this.#mostOfSlow : undefined) ?? this.#most;
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
