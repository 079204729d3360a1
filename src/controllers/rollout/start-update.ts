import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { Machine } from '../../api/machine.ts';
import type { Log } from '../../lib/log.ts';
import type { Services } from '../shared/services.ts';
import type { RolloutDecision } from './decide-rollout.ts';
import { findHealthProblem, findMembershipProblem } from './oidc-trust/control-plane.ts';
import type { ControlPlane } from './oidc-trust/control-plane-target.ts';
import { rolloutTurnsOf } from './rollout-turns.ts';

interface StartContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}

/**
 * Lets a Machine apply its desired configuration, if every control plane is healthy just now and no other cluster of the
 * ProviderConfig is being changed. Returns the Machine after the write, or why it has to wait.
 */
export async function startUpdate(
  services: Services,
  cluster: ClusterIdentity,
  machines: readonly Machine[],
  { machine, revision }: Extract<RolloutDecision, { kind: 'update' }>,
  { signal, log }: StartContext,
): Promise<{ readonly machine: Machine } | { readonly message: string }> {
  const problem = await findClusterProblem(services, cluster, machines, signal);
  if (problem !== undefined) return { message: problem };
  const other = rolloutTurnsOf(services).take(services, machine.spec.providerConfigRef.name, cluster);
  if (other !== undefined) return { message: `Cluster ${other} of the same ProviderConfig is changed first.` };
  const { name, resourceVersion } = machine.metadata;
  const lock = resourceVersion ? { resourceVersion } : {};
  const updated = await services.kube.merge(Machine, { name }, { spec: { revision } }, lock, signal);
  log.info({ machine: name, revision }, 'update of a machine begins');
  return { machine: updated };
}

/** Why the control plane is not healthy: every API server, and every member of etcd. */
async function findClusterProblem(
  services: Services,
  cluster: ClusterIdentity,
  machines: readonly Machine[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const targets = machines
    .filter(({ spec }) => spec.role === 'controlplane')
    .map((machine): ControlPlane => {
      const address = String(machine.status?.progress?.facts['address'] ?? '');
      return { services, cluster, machine, address, signal };
    });
  const problems = await Promise.all(
    targets.map(async (target) => {
      const why = await findHealthProblem(target);
      return why === undefined ? undefined : `${target.machine.metadata.name}: ${why}.`;
    }),
  );
  const [first] = problems.filter((problem) => problem !== undefined);
  const [witness] = targets;
  if (first !== undefined || !witness) return first;
  const incomplete = await findMembershipProblem(witness, targets.length);
  return incomplete === undefined ? undefined : `${witness.machine.metadata.name}: ${incomplete}.`;
}
