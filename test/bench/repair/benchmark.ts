import type { Benchmark } from '../measurement.ts';
import { measureDeadWorkers } from './dead-worker.ts';

/** How soon a cluster has its nodes again. */
export const repairBenchmark: Benchmark = { name: 'Repair of nodes', measure: measureDeadWorkers };
