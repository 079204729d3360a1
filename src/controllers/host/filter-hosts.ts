import type { Host } from '../../api/host.ts';
import type { HostClaim, RejectionCounts } from '../../engine/host.ts';
import { choosePrimaryHost, toHostView, unavailableReasonOf, unavailableReasons } from './availability.ts';

export type RejectHost = Parameters<HostClaim['claim']>[0];

/** The Hosts of one platform that a Machine can claim, by name, and the rejection reasons of the others. */
export function filterHosts(
  hosts: readonly Host[],
  refuse: RejectHost,
): { fitting: readonly Host[]; rejected: RejectionCounts } {
  const fitting: Host[] = [];
  const counts = new Map<string, number>();
  for (const host of [...hosts].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const why = rejectionReasonOf(host, hosts, refuse);
    if (why === undefined) fitting.push(host);
    else counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return { fitting, rejected: sortRejections(counts) };
}

/** Why a Machine cannot claim this Host, as a text that follows a number; undefined if it can. */
export const rejectionReasonOf = (host: Host, all: readonly Host[], refuse: RejectHost): string | undefined =>
  unavailableReasonOf(host) ?? mismatchReason(host, refuse) ?? duplicateReason(host, all);

const duplicateOfServer = 'are for a server that has another Host';
const invalidSpec = 'are not valid';

function mismatchReason(host: Host, refuse: RejectHost): string | undefined {
  const view = toHostView(host);
  return view ? refuse(view) : invalidSpec;
}

function duplicateReason(host: Host, all: readonly Host[]): string | undefined {
  const same = all.filter(({ spec }) => spec.serverID === host.spec.serverID);
  return choosePrimaryHost(same) === host ? undefined : duplicateOfServer;
}

/** The reasons of this provider come before those of the platform. */
function sortRejections(counts: ReadonlyMap<string, number>): RejectionCounts {
  const ours = [...unavailableReasons, duplicateOfServer, invalidSpec];
  const rank = (reason: string): number => (ours.includes(reason) ? ours.indexOf(reason) : ours.length);
  return new Map([...counts].sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
}
