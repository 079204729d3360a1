/** One line of the table: what was measured, against what, and what it should be. */
export interface Measurement {
  readonly what: string;
  /** What came out, in words with units: medians and ratios of this one run. */
  readonly measured: string;
  /** What we want it to be; empty where there is no goal. */
  readonly goal: string;
  /** Undefined where there is no goal. */
  readonly reached?: boolean;
}

/** A group of figures. `missing`: why it cannot be measured on this machine, in one sentence. */
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

/** Milliseconds that the work takes. */
export async function elapsedMs(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The figure of a ratio that should not be above `most`. */
export function ratioMeasurement(what: string, ours: number, theirs: number, most: number, words: string): Measurement {
  const value = ours / theirs;
  return { what, measured: `${value.toFixed(2)} (${words})`, goal: `≤ ${most}`, reached: value <= most };
}

export const formatMs = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
