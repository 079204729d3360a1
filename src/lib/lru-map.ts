/**
 * A map with a limited number of entries: the least recently used entry is evicted first. For keys that come from
 * outside, and values that can be computed again.
 */
export class LruMap<Key, Value> {
  readonly #maxEntries: number;
  readonly #entries = new Map<Key, Value>();

  constructor(max: number) {
    this.#maxEntries = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** The value of the key, which `make` creates if there is none. What it throws is not kept. */
  getOrAdd(key: Key, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#maxEntries) return;
    for (const [oldest] of this.#entries) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  /** Drops all values for which the predicate holds. */
  drop(isOver: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (isOver(value)) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
