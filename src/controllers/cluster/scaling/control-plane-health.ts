import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { findHealthProblem } from '../../shared/control-planes/health-problems.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';

/** Which control planes stay, and which are to be deleted. */
interface ControlPlaneGroups {
  readonly kept: readonly Machine[];
  readonly surplus: readonly Machine[];
}

/** Why no control plane can be deleted now, or which one leads etcd. */
export type ControlPlaneHealth = { readonly problem: string } | { readonly leader: string | undefined };

/**
 * Asks the control planes that stay just now: each has an API server that answers and a healthy, voting member of etcd.
 * Whether etcd can lose one of the others is decided by its release (`etcd-left`).
 */
export async function assessControlPlanes(
  services: Services,
  cluster: ClusterIdentity,
  { kept, surplus }: ControlPlaneGroups,
  signal: AbortSignal,
): Promise<ControlPlaneHealth> {
  const targets = kept.map((machine) => controlPlaneOf(services, cluster, machine, signal));
  const problems = await Promise.all(
    targets.map(async (target) => {
      const why = await findHealthProblem(target);
      return why === undefined ? [] : [`${target.machine.metadata.name}: ${why}.`];
    }),
  );
  const [problem] = problems.flat();
  if (problem !== undefined) return { problem };
  const [witness] = targets;
  if (!witness) return { problem: 'No control plane would stay.' };
  const members = await queryNode(witness, async (node) => ({
    all: await node.etcdMembers({ signal }),
    leaderId: (await node.etcdStatus({ signal })).leaderId,
  }));
  if ('kind' in members) return { problem: `${witness.machine.metadata.name}: ${members.message}.` };
  const leaving = new Set(surplus.map(({ metadata }) => metadata.name));
  const joining = members.all.find(({ name, learner }) => learner && !leaving.has(name));
  if (joining) return { problem: `${joining.name || 'A control plane'} is joining etcd.` };
  const absent = kept.find(({ metadata }) => !members.all.some(({ name }) => name === metadata.name));
  if (absent) return { problem: `${absent.metadata.name} is not a member of etcd.` };
  return { leader: members.all.find(({ id }) => id === members.leaderId)?.name };
}
