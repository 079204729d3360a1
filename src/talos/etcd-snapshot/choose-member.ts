import { ProviderError } from '../../lib/errors.ts';
import { type EtcdStatus, isHealthyMember } from '../client/etcd-calls.ts';

/** What a control plane says of its member of etcd, or why it says nothing. */
export type MemberAnswer = { readonly machine: string } & (
  | { readonly status: EtcdStatus; readonly problem?: undefined }
  | { readonly problem: string; readonly status?: undefined }
);

/**
 * The control plane whose member gives the snapshot: a healthy one, and rather not the leader, which has most to do. Without
 * a healthy one any that answers: a snapshot needs no quorum, and may be the last chance for one. One that has `failed` since
 * the last snapshot is asked again after all others have failed, too: it may look healthy and have a broken disk.
 */
export function chooseMember(answers: readonly MemberAnswer[], failed: readonly string[] = []): string {
  const voters = answers.flatMap(({ machine, status }) => (status && !status.learner ? [{ machine, status }] : []));
  const rank = (status: EtcdStatus): number =>
    isHealthyMember(status) ? (status.leaderId === status.memberId ? 1 : 0) : 2;
  const untried = voters.filter(({ machine }) => !failed.includes(machine));
  const [best] = (untried.length > 0 ? untried : voters).sort((a, b) => rank(a.status) - rank(b.status));
  if (best) return best.machine;
  const why = answers.map(({ machine, problem = 'its member does not vote yet' }) => `${machine}: ${problem}`);
  throw new ProviderError(
    'CLUSTER_NOT_READY',
    `No member of etcd can give a snapshot. ${why.join('; ') || 'No control plane has an address'}. Check that the nodes can be reached from here at port 50000.`,
  );
}
