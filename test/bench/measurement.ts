/** One line of the table: the measured value, its reference, and its goal. */
export interface Measurement {
  readonly what: string;
  /** The result, with units: medians and ratios of this one run. */
  readonly measured: string;
  /** The goal; empty when there is none. */
  readonly goal: string;
  /** Undefined without a goal. */
  readonly reached?: boolean;
}

/** A group of measurements. `missing`: why it cannot run on this machine, in one sentence. */
export interface Benchmark {
  readonly name: string;
  readonly missing?: string | undefined;
  measure(say: (line: string) => void): Promise<readonly Measurement[]>;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}

/** The duration of the work in milliseconds. */
export async function elapsedMs(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The measurement of a ratio with the upper limit `most`. */
export function ratioMeasurement(what: string, ours: number, theirs: number, max: number, words: string): Measurement {
  const value = ours / theirs;
  return { what, measured: `${value.toFixed(2)} (${words})`, goal: `≤ ${max}`, reached: value <= max };
}

export const formatMs = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
