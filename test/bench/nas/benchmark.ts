import type { Benchmark } from '../measurement.ts';
import { measureNasCalls } from './call-counts.ts';
import { measureParallelMachines } from './parallel-machines.ts';

/** The cost of virtual machines on TrueNAS. */
export const virtualMachineBenchmark: Benchmark = {
  name: 'Virtual machines',
  async measure(say) {
    return [...(await measureNasCalls(say)), await measureParallelMachines()];
  },
};
