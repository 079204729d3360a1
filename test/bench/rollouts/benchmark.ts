import type { Benchmark } from '../measurement.ts';
import { measureCallsOfLabel } from './call-counts.ts';
import { measureLostRequests } from './lost-requests.ts';
import { measureManyClusters } from './many-clusters.ts';

/** What a change of running clusters costs, and what their users notice of it. `ROLLOUT_PARTS=lost,calls,fleet` runs some of it. */
const parts = (process.env['ROLLOUT_PARTS'] ?? 'lost,calls,fleet').split(',');

export const rolloutBenchmark: Benchmark = {
  name: 'Changes of running clusters',
  async measure(say) {
    return [
      ...(parts.includes('lost') ? await measureLostRequests(say) : []),
      ...(parts.includes('calls') ? await measureCallsOfLabel(say) : []),
      ...(parts.includes('fleet') ? await measureManyClusters(say) : []),
    ];
  },
};
