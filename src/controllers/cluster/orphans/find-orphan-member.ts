import type { EtcdMember } from '../../../talos/client/etcd-calls.ts';
import { type EtcdReport, findEtcdProblem } from '../../rollout/etcd-health.ts';

/** What is known of the members of etcd, and of the Machines that they may belong to. */
export interface MembersView {
  /** Of every control plane that answered. */
  readonly reports: readonly EtcdReport[];
  /** The names of all control planes of the cluster, those in deletion included. */
  readonly controlPlanes: readonly string[];
  /** The names of all its Machines. */
  readonly machines: readonly string[];
  /** All addresses of its Machines. */
  readonly addresses: readonly string[];
  /** Whether a Machine of this cluster could have the name. */
  isMachineName(name: string): boolean;
}

/** `unknown`: whether there is an orphan cannot be told now. */
export type OrphanMember =
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly message: string }
  /** `reporter`: a control plane that can remove it. */
  | { readonly kind: 'found'; readonly member: EtcdMember; readonly reporter: string };

/**
 * The member of etcd that belongs to no Machine: it counts for the quorum, and nobody repairs it. Every control plane has to
 * answer, to vote and to be healthy, so that its removal can neither break the quorum nor hit one that is about to join.
 */
export function findOrphanMember(view: MembersView): OrphanMember {
  const { reports, controlPlanes } = view;
  const silent = controlPlanes.find((name) => !reports.some(({ machine }) => machine === name));
  if (silent !== undefined) return unknown(`${silent} does not answer`);
  const [first] = reports;
  if (!first) return unknown('no control plane answers');
  const lists = new Set(reports.map(({ members }) => listIds(members)));
  if (lists.size > 1) return unknown('the members of etcd report different members');
  const own = new Set(reports.map(({ status }) => status.memberId));
  const orphans = first.members.filter(({ id }) => !own.has(id));
  const [orphan] = orphans;
  if (!orphan) return { kind: 'none' };
  if (orphans.length >= reports.length) return unknown('the members without a Machine are too many to lose');
  const holder = findHolder(orphan, view);
  if (holder !== undefined) return unknown(holder);
  const problem = findEtcdProblem(reports.map(withoutMembers(orphans)), controlPlanes);
  return problem === undefined ? { kind: 'found', member: orphan, reporter: first.machine } : unknown(problem);
}

const unknown = (message: string): OrphanMember => ({ kind: 'unknown', message });

const listIds = (members: readonly EtcdMember[]): string =>
  members
    .map(({ id }) => id)
    .sort()
    .join();

/** Why a member may belong to a Machine, become the member of one, or belong to a user who has added a control plane. */
function findHolder(
  { name, peerUrls, learner }: EtcdMember,
  { machines, addresses, isMachineName }: MembersView,
): string | undefined {
  // A member without a name has been announced and has not started.
  if (name === '' || learner) return `the member ${name || 'without a name'} is joining`;
  if (!isMachineName(name)) return `the member ${name} is not of this provider`;
  if (machines.includes(name)) return `the member ${name} has the name of a Machine`;
  const address = addresses.find((one) => peerUrls.some((url) => hostOf(url) === one));
  return address === undefined ? undefined : `the member ${name} has the address ${address} of a Machine`;
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return '';
  }
}

const withoutMembers =
  (left: readonly EtcdMember[]) =>
  (report: EtcdReport): EtcdReport => ({
    ...report,
    members: report.members.filter((member) => !left.includes(member) && !left.some(({ id }) => id === member.id)),
  });
