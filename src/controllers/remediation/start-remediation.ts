import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { Machine, type RemediationRequest } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Log } from '../../lib/log.ts';
import { assessControlPlanes } from '../cluster/scaling/control-plane-health.ts';
import type { Services } from '../shared/services.ts';
import type { RemediationDecision } from './decide-remediation.ts';
import { hasHealthyNode } from './unhealthy-machines.ts';

interface RemediationContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** The cluster of an unhealthy node. */
interface RemediatedCluster {
  readonly cluster: Cluster;
  readonly ref: ClusterIdentity;
  readonly machines: readonly Machine[];
}

type Act = Extract<RemediationDecision, { kind: 'act' }>;

/**
 * Asks for the restart or the replacement of an unhealthy node, on the condition that its Machine has not changed since.
 * Returns the Machine after the write, or why it has to wait.
 */
export async function startRemediation(
  services: Services,
  { cluster, ref, machines }: RemediatedCluster,
  { machine, action, attempt, message: why }: Act,
  { signal, log }: RemediationContext,
): Promise<{ readonly machine: Machine } | { readonly problem: string }> {
  if (machine.spec.role === 'controlplane') {
    const others = machines.filter((one) => one.spec.role === 'controlplane' && one !== machine);
    const kept = others.filter(hasHealthyNode);
    const health = await assessControlPlanes(services, ref, { kept, surplus: [machine] }, signal);
    if ('problem' in health) return health;
  }
  const { name, resourceVersion } = machine.metadata;
  const remediation: RemediationRequest = { action, attempt, requestedAt: services.clock.now().toISOString() };
  const patch = { metadata: { annotations: { [annotations.remediate]: null } }, spec: { remediation } };
  const written = await services.kube.merge(
    Machine,
    { name },
    patch,
    resourceVersion ? { resourceVersion } : {},
    signal,
  );
  const reason = action === 'Restart' ? 'NodeRestarted' : 'NodeReplaced';
  const done = action === 'Restart' ? 'its machine is restarted' : 'another machine takes its place';
  services.events.record(cluster, 'Warning', reason, `The node ${name} is unhealthy, and ${done}. ${why}`);
  services.observer.remediated(machine.spec.platform, action);
  log.warn({ machine: name, action, attempt, why }, 'an unhealthy node is remediated');
  return { machine: written };
}

/** What was asked for is over, or not needed any more. */
export async function withdrawRemediation(
  services: Services,
  cluster: Cluster,
  machine: Machine,
  { signal, log }: RemediationContext,
): Promise<Machine> {
  const { name, resourceVersion } = machine.metadata;
  const lock = resourceVersion ? { resourceVersion } : {};
  const written = await services.kube.merge(Machine, { name }, { spec: { remediation: null } }, lock, signal);
  if (!hasHealthyNode(machine)) {
    log.warn({ machine: name }, 'nothing more is done for an unhealthy node');
    return written;
  }
  services.events.record(cluster, 'Normal', 'NodeRecovered', `The node ${name} is healthy again.`);
  log.info({ machine: name }, 'a remediated node is healthy again');
  return written;
}
