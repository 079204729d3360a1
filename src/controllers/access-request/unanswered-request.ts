import { openmcpKeys } from '../../api/names.ts';
import { type AccessRequestDecision, settled } from './decision.ts';
import type { AccessRequestView } from './view.ts';

/** The operator normally answers within two seconds. */
const operatorTimeoutSeconds = 60;

/**
 * A request for one of our Clusters that has neither labels nor a phase waits for the openMCP operator, which may not
 * be installed. The contract allows only the operator to write to it, so this is reported as an Event on the Cluster
 * and as a log line.
 */
export function decideUnansweredRequest(
  { request: { metadata, status }, ownCluster }: AccessRequestView,
  now: Date,
): AccessRequestDecision {
  const isAnswered = metadata.labels?.[openmcpKeys.provider] !== undefined || Boolean(status?.phase);
  if (isAnswered || metadata.deletionTimestamp || !ownCluster) return settled();
  // By the clock of the API server, which may be ahead.
  const age = Math.max(0, (now.getTime() - Date.parse(metadata.creationTimestamp ?? '')) / 1000);
  if (age < operatorTimeoutSeconds) return settled({ requeueAfterSeconds: operatorTimeoutSeconds - age });
  const name = `${metadata.namespace}/${metadata.name}`;
  const message = `AccessRequest ${name} has no phase and no label ${openmcpKeys.provider}: the openMCP operator sets both, which is required for access. Check that the operator is running.`;
  return settled({
    warning: { about: ownCluster, reason: 'AccessRequestUnanswered', message },
    log: {
      level: 'warn',
      fields: { request: name },
      message: 'the openMCP operator has not processed an AccessRequest: check that it is running',
    },
  });
}
