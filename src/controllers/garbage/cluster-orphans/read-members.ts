import type { ClusterIdentity } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import type { EtcdReport } from '../../rollout/etcd-health.ts';
import { readEtcdReport } from '../../rollout/read-etcd-report.ts';
import { type ControlPlane, controlPlaneOf } from '../../shared/control-planes/control-plane.ts';
import { queryNode } from '../../shared/control-planes/query-node.ts';
import type { Services } from '../../shared/services.ts';
import { areMembersKnown } from './find-orphan-members.ts';

/** The control planes of a cluster, and their administrator access. */
export interface MembershipSource {
  readonly services: Pick<Services, 'targets'>;
  readonly cluster: ClusterIdentity;
  readonly controlPlanes: readonly Machine[];
  readonly signal: AbortSignal;
}

/**
 * One look by a single control plane: whether all members of etcd have the name of a control plane, each once. Undefined:
 * it does not answer.
 */
export async function isMembershipKnown(source: MembershipSource): Promise<boolean | undefined> {
  const [witness] = targetsOf(source);
  if (!witness || witness.address === '') return undefined;
  const members = await queryNode(witness, (node) => node.etcdMembers(source));
  return 'kind' in members ? undefined : areMembersKnown(members, source.controlPlanes);
}

/** The reports of all control planes; each of them must answer. */
export async function readMembership(
  source: MembershipSource,
): Promise<{ readonly reports: readonly EtcdReport[] } | { readonly problem: string }> {
  const reports: EtcdReport[] = [];
  for (const answer of await Promise.all(targetsOf(source).map(readReport))) {
    if ('problem' in answer) return answer;
    reports.push(answer.report);
  }
  return { reports };
}

const readReport = async (target: ControlPlane): ReturnType<typeof readEtcdReport> =>
  target.address === '' ? { problem: `${target.machine.metadata.name} has no address.` } : await readEtcdReport(target);

/** Those in deletion last: they may be off already. */
const targetsOf = ({ services, cluster, controlPlanes, signal }: MembershipSource): ControlPlane[] =>
  [...controlPlanes]
    .sort(
      (a, b) => Number(a.metadata.deletionTimestamp !== undefined) - Number(b.metadata.deletionTimestamp !== undefined),
    )
    .map((machine) => controlPlaneOf(services, cluster, machine, signal));
