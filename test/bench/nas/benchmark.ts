import type { Benchmark } from '../measurement.ts';
import { measureNasCalls } from './call-counts.ts';
import { measureParallelMachines } from './parallel-machines.ts';

/** What virtual machines cost at TrueNAS. */
export const virtualMachineBenchmark: Benchmark = {
  name: 'Virtual machines',
  async measure(say) {
    return [...(await measureNasCalls(say)), await measureParallelMachines()];
  },
};
