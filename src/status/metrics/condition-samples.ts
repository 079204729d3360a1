import { type Condition, conditionReasons, conditionTypes } from '../../api/conditions.ts';
import { errorCodes } from '../../lib/errors.ts';
import type { FleetSamples } from '../../server/fleet-metrics.ts';
import { type FleetSources, findFleetObjects } from '../views/status-sources.ts';
import { Tally } from './tally.ts';

interface ConditionedObject {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

const statuses: ReadonlySet<string> = new Set(['True', 'False', 'Unknown']);

/** The conditions of all objects. Other writers can set any type and reason: only listed ones become labels. */
export function listConditionSamples(sources: FleetSources): Pick<FleetSamples, 'conditions'> {
  const { clusters, machines, configs } = findFleetObjects(sources);
  const { hosts, accessRequests } = sources.stores;
  const names = new Set(clusters.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const requests = accessRequests
    .list()
    .filter(({ spec }) => spec.clusterRef && names.has(`${spec.clusterRef.namespace}/${spec.clusterRef.name}`));
  const isKnown = reasonFilter(sources);
  const tally = new Tally<'kind' | 'type' | 'status' | 'reason'>();
  const count = (kind: string, objects: readonly ConditionedObject[]): void => {
    for (const { type, status, reason } of objects.flatMap((object) => object.status?.conditions ?? [])) {
      if (!Object.hasOwn(conditionTypes, type) || !statuses.has(status)) continue;
      tally.add({ kind, type, status, reason: isKnown(reason) ? reason : 'other' });
    }
  };
  count('ProviderConfig', configs);
  count('Cluster', clusters);
  count('Machine', machines);
  count('Host', hosts.list());
  count('AccessRequest', requests);
  return { conditions: tally.samples };
}

/** Our reasons, and the codes of errors, which are the reasons of failed steps. */
function reasonFilter({ platforms }: Pick<FleetSources, 'platforms'>): (reason: string) => boolean {
  const lists = [conditionReasons, errorCodes, ...platforms.map((platform) => platform.errorCodes)];
  const known = new Set(lists.flatMap((list) => Object.keys(list ?? {})));
  return (reason) => known.has(reason);
}
