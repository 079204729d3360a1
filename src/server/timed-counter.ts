import { Counter, Histogram, type LabelValues, type Registry } from 'prom-client';

/** In seconds, for operations that are usually quick. */
export const shortDurationBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** In seconds. Steps wait for machines to boot, calls for arrays of disks: a longer operation is stuck. */
export const longDurationBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

interface MetricDescription<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

/** The number of operations, and their duration in seconds: a counter and a histogram that are updated together. */
export function createTimedCounter<C extends string, T extends string>(
  registry: Registry,
  { total, time, buckets }: { total: MetricDescription<C>; time: MetricDescription<T>; buckets: number[] },
): (counted: LabelValues<C>, timed: LabelValues<T>, seconds: number) => void {
  const registers = [registry];
  const counter = new Counter({ ...total, registers });
  const histogram = new Histogram({ ...time, buckets, registers });
  return (counted, timed, seconds) => {
    counter.inc(counted);
    histogram.observe(timed, seconds);
  };
}
