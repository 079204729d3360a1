import type { Host } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import type { HostView, RejectionCounts } from '../../engine/capabilities/hosts.ts';
import type { MachineSlot } from '../cluster/view.ts';
import { chooseHeldHost, toHostView } from '../host/availability.ts';
import { filterHosts, rejectionReasonOf } from '../host/filter-hosts.ts';

/** A machine that a cluster has or is to have, and the Host under it. */
export interface HostAssignment {
  readonly slot: MachineSlot;
  /** Undefined: it does not exist yet. */
  readonly machine: Machine | undefined;
  readonly host: HostView | undefined;
  /** It has the Host already. */
  readonly isHeld: boolean;
  /** What stands against every Host, where it would be given none. */
  readonly rejected: RejectionCounts;
}

/** A Host that none of them is given. */
export interface UnassignedHost {
  readonly host: Host;
  /** To go on after a number. */
  readonly reason: string;
}

interface HostAssignmentInput {
  readonly slots: readonly MachineSlot[];
  readonly machines: readonly Machine[];
  readonly hosts: readonly Host[];
  readonly refuses: (host: HostView, slot: MachineSlot) => string | undefined;
}

/**
 * Which Host each machine holds, or would be given were they made now, in this order. Machines are made at the same time, so
 * that two of one kind may as well get each other's.
 */
export function assignHosts({ slots, machines, hosts, refuses }: HostAssignmentInput): readonly HostAssignment[] {
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

/** The Hosts that nobody holds and that none of these would be given, each with what stands against it. */
export function unassignedHosts(
  seats: readonly HostAssignment[],
  { hosts, refuses }: Pick<HostAssignmentInput, 'hosts' | 'refuses'>,
): readonly UnassignedHost[] {
  const given = new Set(seats.map(({ host }) => host?.name));
  return hosts
    .filter(({ metadata, status }) => !given.has(metadata.name) && status?.machineRef === undefined)
    .map((host) => {
      const reasons = seats.map(({ slot }) => rejectionReasonOf(host, hosts, (view) => refuses(view, slot)));
      return { host, reason: reasons.includes(undefined) ? notNeeded : (reasons[0] ?? notNeeded) };
    });
}

const notNeeded = 'free and not needed';
