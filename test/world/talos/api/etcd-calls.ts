import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { MachineService } from '../../../../src/talos/gen/machine_pb.ts';
import { type EtcdCluster, type EtcdMember, leaveEtcd, whyKept } from '../etcd.ts';
import type { Node } from '../node.ts';
import { plain, unavailable } from './errors.ts';
import { requireControlPlane } from './machine.ts';

/** What is asked of etcd on this node. */
export function etcdCalls(node: Node): Partial<ServiceImpl<typeof MachineService>> {
  return {
    etcdMemberList(request) {
      const { cluster } = running(node, 'etcd member list');
      if (!request.queryLocal && !cluster.quorum) throw unavailable('etcdserver: no leader');
      const members = cluster.members.map(describeMember);
      return { messages: [{ legacyMembers: members.map((member) => member.hostname), members }] };
    },
    etcdStatus() {
      const member = running(node, 'etcd status');
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
    etcdAlarmList() {
      running(node, 'etcd alarm list');
      return { messages: [{ memberAlarms: [] }] };
    },
    etcdAlarmDisarm() {
      running(node, 'etcd alarm disarm');
      return { messages: [{ memberAlarms: [] }] };
    },
    etcdDefragment() {
      running(node, 'etcd defragment');
      return { messages: [{}] };
    },
    etcdForfeitLeadership() {
      const { cluster, id } = running(node, 'etcd forfeit leadership');
      if (cluster.members.length === 1) throw plain('cannot forfeit leadership, only one member');
      if (cluster.leader !== id) return { messages: [{ member: '' }] };
      return { messages: [{ member: handOver(cluster, id) }] };
    },
    etcdLeaveCluster() {
      running(node, 'etcd leave');
      orPlain(() => leaveEtcd(node));
      return { messages: [{}] };
    },
    etcdRemoveMemberByID(request) {
      const { cluster } = running(node, 'etcd remove member');
      if (!cluster.quorum) throw unavailable('etcdserver: no leader');
      const member = cluster.members.find((one) => one.id === request.memberId);
      if (!member) throw new ConnectError('etcdserver: member not found', Code.NotFound);
      const refusal = whyKept(member);
      if (refusal) throw plain(refusal);
      member.node?.services.set('etcd', 'Failed', 'the member has been permanently removed from the cluster', false);
      if (member.node) member.node.etcd = undefined;
      member.node = undefined;
      cluster.remove(member);
      node.world.changed();
      return { messages: [{}] };
    },
    async *etcdSnapshot() {
      const { cluster } = running(node, 'etcd snapshot');
      const kept = JSON.stringify({ cluster: cluster.uid, revision: cluster.store.revision });
      yield { bytes: Buffer.from(kept) };
    },
  };
}

/** The member that runs on this node, or the error a client meets when none does. */
function running(node: Node, what: string): EtcdMember {
  requireControlPlane(node, what);
  if (node.etcd) return node.etcd;
  throw unavailable(
    'failed to create etcd client: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"',
  );
}

const describeMember = (member: EtcdMember) => ({
  id: member.id,
  hostname: member.name,
  peerUrls: [`https://${member.address}:2380`],
  clientUrls: member.learner && !member.node ? [] : [`https://${member.address}:2379`],
  isLearner: member.learner,
});

function handOver(cluster: EtcdCluster, from: bigint): string {
  const next = cluster.members.find((member) => member.id !== from && member.node && !member.learner);
  if (!next) throw plain('etcdserver: no healthy member to transfer leadership to');
  cluster.leader = next.id;
  cluster.term += 1n;
  return next.name;
}

function orPlain(work: () => void): void {
  try {
    work();
  } catch (error) {
    throw plain(error instanceof Error ? error.message : String(error));
  }
}
