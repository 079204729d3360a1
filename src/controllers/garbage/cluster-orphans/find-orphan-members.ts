import type { Machine } from '../../../api/machine.ts';
import { hostOfUrl } from '../../../lib/net/ip.ts';
import { type EtcdMember, isHealthyMember } from '../../../talos/client/etcd-calls.ts';
import type { EtcdReport } from '../../rollout/etcd-health.ts';
import { isMachineAt } from './machine-addresses.ts';

/** Members without a Machine, or why nothing can be said about them. */
export type OrphanMembers = { readonly problem: string } | { readonly orphans: readonly EtcdMember[] };

/**
 * The members of etcd that belong to no Machine. `reports`: those of all control planes of the cluster, including those
 * in deletion; each has answered just now. `machines`: all that exist, of any cluster. Whatever is uncertain is a problem, because a
 * member that is removed cannot come back.
 */
export function findOrphanMembers(reports: readonly EtcdReport[], machines: readonly Machine[]): OrphanMembers {
  const [first] = reports;
  if (!first) return { problem: 'No control plane answers.' };
  const { members } = first;
  const problem = findReportProblem(reports) ?? findMemberProblem(members);
  if (problem !== undefined) return { problem };
  const own = new Map(reports.map(({ machine, status }) => [status.memberId, machine]));
  if (own.size < reports.length) return { problem: 'Two control planes report the same member of etcd.' };
  const absent = [...own].find(([id]) => !members.some((member) => member.id === id));
  if (absent) return { problem: `${absent[1]} is not a member of etcd.` };
  const orphans = members.filter(({ id }) => !own.has(id));
  const claimed = orphans.find((member) => machines.some((machine) => isMemberOf(member, machine)));
  if (claimed) return { problem: `The member ${claimed.name} of etcd may belong to a Machine.` };
  // One is removed at a time. The members of the control planes that have answered must be a quorum of the rest.
  const needed = Math.floor((members.length - 1) / 2) + 1;
  if (orphans.length > 0 && reports.length < needed)
    return {
      problem: `${reports.length} of ${members.length} members of etcd are known to be healthy, ${needed} are required.`,
    };
  return { orphans };
}

/** Whether one list of members, of a single control plane, has nothing that {@link findOrphanMembers} must explain. */
export function areMembersKnown(members: readonly EtcdMember[], controlPlanes: readonly Machine[]): boolean {
  const names = members.map(({ name }) => name);
  const known = new Set(controlPlanes.map(({ metadata }) => metadata.name));
  return new Set(names).size === names.length && names.every((name) => known.has(name));
}

function findReportProblem(reports: readonly EtcdReport[]): string | undefined {
  for (const { machine, status, alarms } of reports) {
    if (alarms.length > 0) return `${machine}: etcd has the alarm ${alarms[0]}.`;
    if (!isHealthyMember(status) || status.learner) return `${machine}: its etcd member is not healthy.`;
  }
  if (new Set(reports.map(({ status }) => status.leaderId)).size > 1)
    return 'The members of etcd do not agree on a leader.';
  return new Set(reports.map(({ members }) => summarize(members))).size > 1
    ? 'The members of etcd list different members.'
    : undefined;
}

const summarize = (members: readonly EtcdMember[]): string =>
  JSON.stringify(members.map(({ id, name, learner, peerUrls }) => [id, name, learner, [...peerUrls].sort()]).sort());

/** A member that joins is a learner, and has no name until it has started. */
function findMemberProblem(members: readonly EtcdMember[]): string | undefined {
  const joining = members.find(({ learner, name }) => learner || name === '');
  return joining && `The member ${joining.name || joining.id} may be joining etcd.`;
}

/** Talos names a member after the host name of its node, which is the name of the Machine. */
const isMemberOf = ({ name, peerUrls }: EtcdMember, machine: Machine): boolean =>
  name === machine.metadata.name || peerUrls.some((url) => isMachineAt(machine, hostOf(url)));

const hostOf = (url: string): string => (URL.canParse(url) ? hostOfUrl(new URL(url)) : url);
