import { type EtcdMember, type EtcdStatus, isHealthyMember } from '../../talos/client/etcd-calls.ts';

/** What one control plane reports of etcd. */
export interface EtcdReport {
  /** The name of its Machine, which is its host name. */
  readonly machine: string;
  readonly status: EtcdStatus;
  readonly members: readonly EtcdMember[];
  readonly alarms: readonly string[];
}

/**
 * Why etcd is not healthy enough for the restart of a member; undefined if it is. `expected`: the control planes of the
 * cluster. Those without a report are about to be changed themselves, and are not well already.
 */
export function findEtcdProblem(reports: readonly EtcdReport[], expected: readonly string[]): string | undefined {
  for (const report of reports) {
    const problem = findReportProblem(report, expected);
    if (problem !== undefined) return `${report.machine}: ${problem}.`;
  }
  const leaders = new Set(reports.map(({ status }) => status.leaderId));
  return leaders.size > 1 ? 'The members of etcd do not agree on a leader.' : undefined;
}

function findReportProblem({ status, members, alarms }: EtcdReport, expected: readonly string[]): string | undefined {
  if (alarms.length > 0) return `etcd has the alarm ${alarms[0]}`;
  if (!isHealthyMember(status)) return 'its etcd member is not healthy';
  const learner = members.find(({ learner }) => learner);
  if (status.learner || learner) return `the etcd member ${learner?.name || 'of this node'} does not vote yet`;
  const foreign = members.find(({ name }) => !expected.includes(name));
  if (foreign) return `etcd has the member ${foreign.name || foreign.id}, which is no control plane of this cluster`;
  return members.length === expected.length
    ? undefined
    : `etcd has ${members.length} voting members of ${expected.length}`;
}

/** The name of the Machine whose member leads; undefined if no report knows. */
export function findEtcdLeader(reports: readonly EtcdReport[]): string | undefined {
  const leader = reports[0]?.status.leaderId;
  return reports.find(({ status }) => status.memberId === leader)?.machine;
}
