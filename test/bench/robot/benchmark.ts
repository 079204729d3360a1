import type { Benchmark } from '../measurement.ts';
import { measureRobotCalls } from './call-counts.ts';
import { measureIdleHosts } from './idle-hosts.ts';
import { measureParallelRescue } from './parallel-rescue.ts';
import { measureServerProvisionTime } from './provision-time.ts';

/** The cost of bare servers at Robot. */
export const bareServerBenchmark: Benchmark = {
  name: 'Bare servers',
  async measure(say) {
    const calls = await measureRobotCalls(say);
    return [
      ...calls,
      await measureServerProvisionTime(),
      await measureParallelRescue(),
      ...(await measureIdleHosts(say)),
    ];
  },
};
