import { openmcp } from '../../api/names.ts';
import type { AccessRequest } from '../../api/openmcp.ts';
import type { Result } from '../../kube/controller.ts';
import type { Log } from '../../lib/log.ts';
import { isOurs } from '../cluster/view.ts';
import type { Services } from '../services.ts';

/** The operator answers within a second or two. */
const patienceSeconds = 60;

/**
 * A request for a Cluster of ours that has neither labels nor a phase waits for the openMCP operator, which may not be there. The
 * contract lets nobody else write to it, so that is said beside it: as an Event on the Cluster, and as a log line.
 */
export function tellOfUnanswered(services: Services, { metadata, spec, status }: AccessRequest, log: Log): Result {
  const { stores, clock, events } = services;
  const cluster = spec.clusterRef && stores.clusters.get(spec.clusterRef);
  const isAnswered = metadata.labels?.[openmcp.provider] !== undefined || Boolean(status?.phase);
  if (isAnswered || metadata.deletionTimestamp || !cluster || !isOurs(services, cluster)) return {};
  const age = (clock.now().getTime() - Date.parse(metadata.creationTimestamp ?? '')) / 1000;
  if (age < patienceSeconds) return { againInSeconds: patienceSeconds - age };
  const name = `${metadata.namespace}/${metadata.name}`;
  const message = `AccessRequest ${name} has no phase and no label ${openmcp.provider}: the openMCP operator sets both, and nothing is granted before. Is it running?`;
  events.record(cluster, 'Warning', 'AccessRequestUnanswered', message);
  log.warn({ request: name }, 'the openMCP operator has not answered an AccessRequest: is it running?');
  return {};
}
