import { openmcpKeys } from '../../api/names.ts';
import type { AccessRequest } from '../../api/openmcp/types.ts';
import type { ReconcileResult } from '../../kube/controller/controller.ts';
import type { Log } from '../../lib/log.ts';
import { isOwnCluster } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';

/** The operator normally answers within two seconds. */
const operatorTimeoutSeconds = 60;

/**
 * A request for one of our Clusters that has neither labels nor a phase waits for the openMCP operator, which may not
 * be installed. The contract allows only the operator to write to it, so this is reported as an Event on the Cluster
 * and as a log line.
 */
export function reportUnansweredRequest(
  services: Services,
  { metadata, spec, status }: AccessRequest,
  log: Log,
): ReconcileResult {
  const { stores, clock, events } = services;
  const cluster = spec.clusterRef && stores.clusters.get(spec.clusterRef);
  const isAnswered = metadata.labels?.[openmcpKeys.provider] !== undefined || Boolean(status?.phase);
  if (isAnswered || metadata.deletionTimestamp || !cluster || !isOwnCluster(services, cluster)) return {};
  const age = (clock.now().getTime() - Date.parse(metadata.creationTimestamp ?? '')) / 1000;
  if (age < operatorTimeoutSeconds) return { requeueAfterSeconds: operatorTimeoutSeconds - age };
  const name = `${metadata.namespace}/${metadata.name}`;
  const message = `AccessRequest ${name} has no phase and no label ${openmcpKeys.provider}: the openMCP operator sets both, and nothing is granted before. Is it running?`;
  events.record(cluster, 'Warning', 'AccessRequestUnanswered', message);
  log.warn({ request: name }, 'the openMCP operator has not answered an AccessRequest: is it running?');
  return {};
}
