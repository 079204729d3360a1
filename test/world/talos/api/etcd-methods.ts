import { once } from 'node:events';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import {
  hasReachableEtcdEndpoint,
  leaveEtcdCluster,
  leaveRejectionReason,
  type SimulatedEtcdCluster,
  type SimulatedEtcdMember,
} from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';
import { unavailableError, unknownError } from './errors.ts';
import { requireControlPlane } from './machine-service.ts';

/** The etcd methods of this node. */
export function etcdMethods(node: TalosNode): Partial<ServiceImpl<typeof MachineService>> {
  return {
    async etcdMemberList(request, { signal }) {
      requireControlPlane(node, 'etcd member list');
      if (!request.queryLocal && !hasReachableEtcdEndpoint(node)) await hangUntilDeadline(node, signal);
      const { cluster } = await runningMember(node, 'etcd member list', signal);
      if (!cluster.quorum) throw unavailableError('etcdserver: no leader');
      const members = cluster.members.map(describeMember);
      return { messages: [{ legacyMembers: members.map((member) => member.hostname), members }] };
    },
    async etcdStatus(_, { signal }) {
      const member = await runningMember(node, 'etcd status', signal);
      const { cluster } = member;
      const index = BigInt(cluster.store.revision);
      return {
        messages: [
          {
            memberStatus: {
              protocolVersion: '3.6.12',
              storageVersion: '3.6.0',
              dbSize: 20n << 20n,
              dbSizeInUse: 8n << 20n,
              leader: cluster.leader ?? 0n,
              raftIndex: index,
              raftAppliedIndex: index,
              raftTerm: cluster.term,
              errors: cluster.quorum ? [] : ['etcdserver: no leader'],
              isLearner: member.learner,
              memberId: member.id,
            },
          },
        ],
      };
    },
    async etcdAlarmList(_, { signal }) {
      await runningMember(node, 'etcd alarm list', signal);
      return { messages: [{ memberAlarms: [] }] };
    },
    async etcdForfeitLeadership(_, { signal }) {
      const { cluster, id } = await runningMember(node, 'etcd forfeit leadership', signal);
      if (cluster.members.length === 1) throw unknownError('cannot forfeit leadership, only one member');
      if (cluster.leader !== id) return { messages: [{ member: '' }] };
      return { messages: [{ member: forfeitLeadership(cluster, id) }] };
    },
    async etcdLeaveCluster(_, { signal }) {
      await runningMember(node, 'etcd leave', signal);
      asUnknownError(() => leaveEtcdCluster(node));
      return { messages: [{}] };
    },
    async etcdRemoveMemberByID(request, { signal }) {
      const { cluster } = await runningMember(node, 'etcd remove member', signal);
      if (!cluster.quorum) throw unavailableError('etcdserver: no leader');
      const member = cluster.members.find((one) => one.id === request.memberId);
      if (!member) throw new ConnectError('etcdserver: member not found', Code.NotFound);
      const rejection = leaveRejectionReason(member);
      if (rejection) throw unknownError(rejection);
      member.node?.services.set('etcd', 'Failed', 'the member has been permanently removed from the cluster', false);
      if (member.node) member.node.etcd = undefined;
      member.node = undefined;
      cluster.remove(member);
      node.world.changed();
      return { messages: [{}] };
    },
  };
}

/** The member that runs on this node. Until one runs, the client inside of Talos dials until the call's deadline. */
async function runningMember(node: TalosNode, what: string, signal: AbortSignal): Promise<SimulatedEtcdMember> {
  requireControlPlane(node, what);
  return node.etcd ?? (await hangUntilDeadline(node, signal));
}

/** Aborts at the deadline of the caller, or with the end of the boot. */
async function hangUntilDeadline(node: TalosNode, signal: AbortSignal): Promise<never> {
  const over = AbortSignal.any([signal, node.signal]);
  if (!over.aborted) await once(over, 'abort');
  throw new ConnectError('context deadline exceeded', Code.DeadlineExceeded);
}

const describeMember = (member: SimulatedEtcdMember) => ({
  id: member.id,
  hostname: member.name,
  peerUrls: [`https://${member.address}:2380`],
  clientUrls: member.learner && !member.node ? [] : [`https://${member.address}:2379`],
  isLearner: member.learner,
});

function forfeitLeadership(cluster: SimulatedEtcdCluster, from: bigint): string {
  const next = cluster.members.find((member) => member.id !== from && member.node && !member.learner);
  if (!next) throw unknownError('etcdserver: no healthy member to transfer leadership to');
  cluster.leader = next.id;
  cluster.term += 1n;
  return next.name;
}

function asUnknownError(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw unknownError(error instanceof Error ? error.message : String(error));
  }
}
