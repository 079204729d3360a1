/**
 * `prompt` is high priority: a change awaits the reconcile. `patient` is low priority: a resync, a timer or a restart.
 */
export type Priority = 'prompt' | 'patient';

/** After this number of high-priority keys in a row one low-priority key is next, to prevent starvation. */
const maxHighInARow = 7;

/**
 * The ready keys in two priorities, each in the order in which its keys became ready. High-priority keys go first, but
 * neither priority starves the other.
 */
export class PriorityQueue {
  /** Keys and the times at which they became ready. */
  readonly #lanes: Readonly<Record<Priority, Map<string, number>>> = { prompt: new Map(), patient: new Map() };
  #inARow = 0;

  get size(): number {
    return this.#lanes.prompt.size + this.#lanes.patient.size;
  }

  has(key: string): boolean {
    return this.#lanes.prompt.has(key) || this.#lanes.patient.has(key);
  }

  /** Adds a key. A known key keeps its position, except for a low-priority key that becomes high priority. */
  add(key: string, lane: Priority, now: number): void {
    if (lane === 'patient' && this.has(key)) return;
    const since = this.#lanes.patient.get(key) ?? now;
    if (lane === 'prompt') this.#lanes.patient.delete(key);
    if (!this.#lanes[lane].has(key)) this.#lanes[lane].set(key, since);
  }

  /**
   * Takes the next key, with its priority and its ready time. `patient` states whether low-priority keys may start:
   * `free`: yes, `yield`: only when it is their turn, because high-priority keys are active, `full`: no.
   */
  take(patient: 'free' | 'yield' | 'full'): { key: string; lane: Priority; since: number } | undefined {
    const isTheirTurn = this.#inARow >= maxHighInARow;
    const patientTurn = isTheirTurn || this.#lanes.prompt.size === 0;
    const mayGo = patient === 'free' || (patient === 'yield' && isTheirTurn);
    const order: readonly Priority[] = patientTurn ? ['patient', 'prompt'] : ['prompt', 'patient'];
    for (const lane of order) {
      if (lane === 'patient' && !mayGo) continue;
      const [first] = this.#lanes[lane];
      if (!first) continue;
      const [key, since] = first;
      this.#lanes[lane].delete(key);
      this.#inARow = lane === 'prompt' ? this.#inARow + 1 : 0;
      return { key, lane, since };
    }
    return undefined;
  }
}
