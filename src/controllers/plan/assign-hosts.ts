import type { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import type { HostView, RejectionCounts } from '../../engine/host.ts';
import type { MachineSlot } from '../cluster/scaling/machine-slots.ts';
import { chooseHeldHost, toHostView } from '../host/availability.ts';
import { filterHosts, rejectionReasonOf } from '../host/filter-hosts.ts';

/** A Machine that a cluster has or needs, and its Host. */
export interface HostAssignment {
  readonly slot: MachineSlot;
  /** Undefined: it does not exist yet. */
  readonly machine: Machine | undefined;
  readonly host: HostView | undefined;
  /** It already holds the Host. */
  readonly isHeld: boolean;
  /** The rejection reasons of all Hosts, if it gets none. */
  readonly rejected: RejectionCounts;
}

/** A Host that is not assigned to any of the Machines. */
export interface UnassignedHost {
  readonly host: Host;
  /** A text that follows a number. */
  readonly reason: string;
}

interface HostAssignmentInput {
  readonly slots: readonly MachineSlot[];
  readonly machines: readonly Machine[];
  /** Of one platform. */
  readonly hosts: readonly Host[];
  readonly whyUnsuitable: (host: HostView, slot: MachineSlot) => string | undefined;
}

/**
 * The Host that each Machine holds, or would get if it were created now, in this order. Machines are created
 * concurrently, so two Machines with the same requirements may get each other's Host.
 */
export function assignHosts({
  slots,
  machines,
  hosts,
  whyUnsuitable: refuses,
}: HostAssignmentInput): readonly HostAssignment[] {
  const taken = new Set<string>();
  return slots.map((slot) => {
    const machine = machines.find(({ spec }) => spec.pool === slot.pool && spec.slot === slot.slot);
    const own =
      machine && chooseHeldHost(hosts.filter(({ status }) => status?.machineRef?.uid === machine.metadata.uid));
    const named = { ...slot, name: machine?.metadata.name ?? slot.name };
    if (own) return { slot: named, machine, host: toHostView(own), isHeld: true, rejected: new Map() };
    const { fitting, rejected } = filterHosts(hosts, (host) =>
      taken.has(host.name) ? 'needed by machines before it' : refuses(host, slot),
    );
    const [host] = fitting;
    if (host) taken.add(host.metadata.name);
    return { slot: named, machine, host: host && toHostView(host), isHeld: false, rejected };
  });
}

/** The Hosts without a holder and without an assignment, each with its rejection reason. */
export function unassignedHosts(
  assignments: readonly HostAssignment[],
  { hosts, whyUnsuitable }: Pick<HostAssignmentInput, 'hosts' | 'whyUnsuitable'>,
): readonly UnassignedHost[] {
  const given = new Set(assignments.map(({ host }) => host?.name));
  return hosts
    .filter(({ metadata, status }) => !given.has(metadata.name) && status?.machineRef === undefined)
    .map((host) => {
      const reasons = assignments.map(({ slot }) =>
        rejectionReasonOf(host, hosts, (view) => whyUnsuitable(view, slot)),
      );
      return { host, reason: reasons.includes(undefined) ? notNeeded : (reasons[0] ?? notNeeded) };
    });
}

const notNeeded = 'free and not needed';
