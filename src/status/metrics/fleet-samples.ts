import type { FleetSamples } from '../../server/fleet-metrics.ts';
import { type FleetSources, findFleetObjects } from '../views/status-sources.ts';
import { listClusterSamples } from './cluster-samples.ts';
import { listConditionSamples } from './condition-samples.ts';
import { listMachineSamples } from './machine-samples.ts';
import { listSupplySamples } from './supply-samples.ts';

/** The state of the fleet for metrics. `tokenExpiries`: of the tokens that were granted to AccessRequests. */
export function listFleetSamples(
  sources: FleetSources,
  { now, tokenExpiries }: { readonly now: Date; readonly tokenExpiries: readonly Date[] },
): FleetSamples {
  const objects = findFleetObjects(sources);
  const expiries = tokenExpiries.map((time) => time.getTime() / 1000);
  return {
    ...listClusterSamples(objects, now),
    ...listMachineSamples(objects.machines, now),
    ...listConditionSamples(sources),
    ...listSupplySamples(sources),
    ...(expiries.length > 0
      ? { access_token_earliest_expiry_timestamp_seconds: [{ labels: {}, value: Math.min(...expiries) }] }
      : {}),
  };
}
