/** What somebody waits for is `prompt`; what is only looked at again, as a clock or a restart asks, is `patient`. */
export type Priority = 'prompt' | 'patient';

/** After so many prompt keys one patient one has its turn, however many are prompt. */
const maxHighInARow = 7;

/**
 * Keys that are ready, in two lanes, each in the order in which its keys became ready. Prompt keys overtake patient ones,
 * but neither lane starves the other.
 */
export class PriorityQueue {
  /** Keys and since when. */
  readonly #lanes: Readonly<Record<Priority, Map<string, number>>> = { prompt: new Map(), patient: new Map() };
  #inARow = 0;

  get size(): number {
    return this.#lanes.prompt.size + this.#lanes.patient.size;
  }

  has(key: string): boolean {
    return this.#lanes.prompt.has(key) || this.#lanes.patient.has(key);
  }

  /** A key keeps its place, but for a patient one that is prompt now. */
  add(key: string, lane: Priority, now: number): void {
    if (lane === 'patient' && this.has(key)) return;
    const since = this.#lanes.patient.get(key) ?? now;
    if (lane === 'prompt') this.#lanes.patient.delete(key);
    if (!this.#lanes[lane].has(key)) this.#lanes[lane].set(key, since);
  }

  /**
   * Takes the next key, with its lane and since when it was ready. Patient keys: `free` to go, to `yield` to prompt ones
   * that are being worked on unless it is their turn, or `full`.
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
