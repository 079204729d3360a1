import { once } from 'node:events';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { EtcdMemberAlarm_AlarmType as AlarmType, type MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import {
  hasReachableEtcdEndpoint,
  leaveEtcdCluster,
  leaveRejectionReason,
  type SimulatedEtcdCluster,
  type SimulatedEtcdMember,
  storeUploadedSnapshot,
} from '../kubernetes/etcd.ts';
import { storageVersionOf, streamSnapshot } from '../kubernetes/etcd-snapshot.ts';
import type { TalosNode } from '../node.ts';
import { failedPreconditionError, unavailableError, unknownError } from './errors.ts';
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
              protocolVersion: member.version,
              storageVersion: storageVersionOf(member),
              dbSize: BigInt(member.database.bytes),
              dbSizeInUse: BigInt(member.database.inUse),
              leader: cluster.leader ?? 0n,
              raftIndex: index,
              raftAppliedIndex: index,
              raftTerm: cluster.term,
              errors: [
                ...(cluster.quorum ? [] : ['etcdserver: no leader']),
                ...[...cluster.alarms].map(([memberId, alarm]) => `memberID:${memberId} alarm:${alarm} `),
              ],
              isLearner: member.learner,
              memberId: member.id,
            },
          },
        ],
      };
    },
    async etcdAlarmList(_, { signal }) {
      const { cluster } = await runningMember(node, 'etcd alarm list', signal);
      if (!cluster.quorum) await hangUntilDeadline(node, signal);
      return { messages: [{ memberAlarms: describeAlarms(cluster) }] };
    },
    async etcdAlarmDisarm(_, { signal }) {
      const { cluster } = await runningMember(node, 'etcd alarm disarm', signal);
      if (!cluster.quorum) await hangUntilDeadline(node, signal);
      const memberAlarms = describeAlarms(cluster);
      cluster.alarms.clear();
      return { messages: [{ memberAlarms }] };
    },
    async etcdDefragment(_, { signal }) {
      const { database } = await runningMember(node, 'etcd defragment', signal);
      database.bytes = database.inUse;
      return { messages: [{}] };
    },
    async *etcdSnapshot(_, { signal }) {
      const member = await runningMember(node, 'etcd snapshot', signal);
      yield* streamSnapshot(member, node.world.snapshots, signal);
    },
    async etcdRecover(request) {
      // Before the CRI is up, /var is not mounted (talos: v1alpha1_server.go).
      if (!node.bootstrapAllowed) throw failedPreconditionError('etcd service is not ready for recovery yet');
      requireControlPlane(node, 'etcd recover');
      const pieces: Uint8Array[] = [];
      for await (const { bytes } of request) pieces.push(bytes);
      storeUploadedSnapshot(node, Buffer.concat(pieces));
      return { messages: [{}] };
    },
    async etcdForfeitLeadership(_, { signal }) {
      const { cluster, id } = await runningMember(node, 'etcd forfeit leadership', signal);
      try {
        return { messages: [{ member: forfeitLeadership(cluster, id) }] };
      } catch (error) {
        throw unknownError(`failed to forfeit leadership: ${error instanceof Error ? error.message : String(error)}`);
      }
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
  peerUrls: [`https://${toAuthority(member.address, 2380)}`],
  clientUrls: member.learner && !member.node ? [] : [`https://${toAuthority(member.address, 2379)}`],
  isLearner: member.learner,
});

const describeAlarms = (cluster: SimulatedEtcdCluster) =>
  [...cluster.alarms].map(([memberId, alarm]) => ({ memberId, alarm: AlarmType[alarm] }));

/** The first other member of the list becomes the leader, if it can (talos: internal/pkg/etcd/etcd.go). */
function forfeitLeadership(cluster: SimulatedEtcdCluster, from: bigint): string {
  if (!cluster.quorum) throw new Error('failed to list etcd members: etcdserver: no leader');
  const next = cluster.members.find((member) => member.id !== from);
  if (!next) throw new Error('cannot forfeit leadership, only one member');
  if (cluster.leader !== from) return '';
  if (next.learner) throw new Error('etcdserver: bad leader transferee');
  if (!next.node) throw new Error('etcdserver: request timed out, leader transfer took too long');
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
