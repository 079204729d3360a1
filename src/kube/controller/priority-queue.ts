/**
 * `high` is high priority: a change awaits the reconcile. `low` is low priority: a resync, a timer or a restart.
 */
export type Priority = 'high' | 'low';

/** After this number of high-priority keys in a row one low-priority key is next, to prevent starvation. */
const maxHighInARow = 7;

/**
 * The ready keys in two priorities, each in the order in which its keys became ready. High-priority keys go first, but
 * neither priority starves the other.
 */
export class PriorityQueue {
  /** Keys and the times at which they became ready. */
  readonly #queues: Readonly<Record<Priority, Map<string, number>>> = { high: new Map(), low: new Map() };
  #inARow = 0;

  get size(): number {
    return this.#queues.high.size + this.#queues.low.size;
  }

  has(key: string): boolean {
    return this.#queues.high.has(key) || this.#queues.low.has(key);
  }

  /** Adds a key. A known key keeps its position, except for a low-priority key that becomes high priority. */
  add(key: string, priority: Priority, now: number): void {
    if (priority === 'low' && this.has(key)) return;
    const since = this.#queues.low.get(key) ?? now;
    if (priority === 'high') this.#queues.low.delete(key);
    if (!this.#queues[priority].has(key)) this.#queues[priority].set(key, since);
  }

  /**
   * Takes the next key, with its priority and its ready time. `low` states whether low-priority keys may start:
   * `free`: yes, `yield`: only when it is their turn, because high-priority keys are active, `full`: no.
   */
  take(low: 'free' | 'yield' | 'full'): { key: string; priority: Priority; since: number } | undefined {
    const isTheirTurn = this.#inARow >= maxHighInARow;
    const isLowTurn = isTheirTurn || this.#queues.high.size === 0;
    const mayGo = low === 'free' || (low === 'yield' && isTheirTurn);
    const order: readonly Priority[] = isLowTurn ? ['low', 'high'] : ['high', 'low'];
    for (const priority of order) {
      if (priority === 'low' && !mayGo) continue;
      const [first] = this.#queues[priority];
      if (!first) continue;
      const [key, since] = first;
      this.#queues[priority].delete(key);
      this.#inARow = priority === 'high' ? this.#inARow + 1 : 0;
      return { key, priority, since };
    }
    return undefined;
  }
}
