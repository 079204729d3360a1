import type { ClusterIdentity } from '../../api/cluster-identity.ts';
import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import { isHealthyMember } from '../../talos/client/etcd-calls.ts';
import type { MachineStage, NodeService } from '../../talos/client/node-calls.ts';
import { controlPlaneOf } from '../shared/control-planes/control-plane.ts';
import { queryNode } from '../shared/control-planes/query-node.ts';
import type { Services } from '../shared/services.ts';

/** What a control plane has just reported. */
export interface ControlPlaneReport {
  readonly boot: string;
  readonly stage: MachineStage;
  /** Undefined until Talos has defined it. */
  readonly service: NodeService | undefined;
  /** A database of etcd is on its disk. */
  readonly hasData: boolean;
  /** Undefined: no member runs, or it does not tell. */
  readonly member: MemberReport | undefined;
}

interface MemberReport {
  /** It follows a leader: there is a quorum. A restored etcd keeps the alarms of the snapshot. */
  readonly hasLeader: boolean;
  readonly learner: boolean;
  /** Names of the members; none without a quorum. */
  readonly members: readonly string[];
}

/** A control plane that has run, or may have run, etcd. */
export interface ControlPlaneState {
  readonly name: string;
  readonly isDeleted: boolean;
  /** Why it does not answer, without a full stop. */
  readonly report: ControlPlaneReport | { readonly silent: string };
}

/** A stopped etcd hangs, and a node that reboots must not delay the others. */
const querySeconds = 5;

export const isSilent = (report: ControlPlaneState['report']): report is { readonly silent: string } =>
  'silent' in report;

/** Asks the control planes of a cluster, all at the same time. Those whose system was never installed are left out. */
export async function observeControlPlanes(
  services: Pick<Services, 'targets'>,
  cluster: ClusterIdentity,
  machines: readonly Machine[],
  signal: AbortSignal,
): Promise<readonly ControlPlaneState[]> {
  return await Promise.all(
    machines.filter(mayHoldData).map(async (machine) => {
      const target = controlPlaneOf(services, cluster, machine, signal);
      const { name, deletionTimestamp } = machine.metadata;
      const isDeleted = deletionTimestamp !== undefined;
      if (target.address === '') return { name, isDeleted, report: { silent: 'it has no address' } };
      const report = await queryNode(target, (node) => readReport(node, signal));
      return { name, isDeleted, report: 'kind' in report ? { silent: report.message } : report };
    }),
  );
}

/** Its certificate has proven that it is a node of this cluster; only a control plane has the service `etcd`. */
async function readReport(node: TalosClient, signal: AbortSignal): Promise<ControlPlaneReport> {
  const options = { signal, seconds: querySeconds };
  const boot = await node.bootId(options);
  const { stage } = await node.machineStatus(options);
  const service = await node.etcdService(options);
  const hasData = await node.hasEtcdData(options);
  const member = service?.state === 'Running' ? await readMember(node, signal) : undefined;
  return { boot, stage, service, hasData, member };
}

async function readMember(node: TalosClient, signal: AbortSignal): Promise<MemberReport | undefined> {
  const options = { signal, seconds: querySeconds };
  try {
    const status = await node.etcdStatus(options);
    const hasLeader = isHealthyMember({ ...status, errors: [] });
    const members = hasLeader && !status.learner ? await node.etcdMembers(options) : [];
    return { hasLeader, learner: status.learner, members: members.map(({ name }) => name) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderError) return undefined;
    throw error;
  }
}

const mayHoldData = ({ spec, status }: Machine): boolean =>
  spec.role === 'controlplane' &&
  (status?.progress?.facts['joined'] === true ||
    isConditionTrue(status?.conditions, 'Provisioned') ||
    isConditionTrue(status?.conditions, 'Joined'));
