import type { MetricSample } from '../../server/fleet-metrics.ts';

/** Counts, or maxima, of objects by their labels, as samples of a metric. */
export class Tally<L extends string> {
  readonly #values = new Map<string, { readonly labels: Readonly<Record<L, string>>; value: number }>();

  add(labels: Readonly<Record<L, string>>, count = 1): void {
    this.#of(labels, 0).value += count;
  }

  /** Keeps the largest value. */
  raise(labels: Readonly<Record<L, string>>, value: number): void {
    const entry = this.#of(labels, value);
    entry.value = Math.max(entry.value, value);
  }

  get samples(): readonly MetricSample<L>[] {
    return [...this.#values.values()];
  }

  #of(labels: Readonly<Record<L, string>>, start: number): { value: number } {
    const key = Object.values(labels).join('\n');
    const known = this.#values.get(key);
    if (known) return known;
    const entry = { labels, value: start };
    this.#values.set(key, entry);
    return entry;
  }
}
