import type { Host } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import type { HostView, Rejections } from '../engine/host.ts';
import type { Slot } from './cluster/view.ts';
import { sift, whyNot } from './host/sift.ts';
import { heldOf, toView } from './host/standing.ts';

/** A machine that a cluster has or is to have, and the Host under it. */
export interface Seat {
  readonly slot: Slot;
  /** Undefined: it does not exist yet. */
  readonly machine: Machine | undefined;
  readonly host: HostView | undefined;
  /** It has the Host already. */
  readonly isHeld: boolean;
  /** What stands against every Host, where it would be given none. */
  readonly rejected: Rejections;
}

/** A Host that none of them is given. */
export interface Spare {
  readonly host: Host;
  /** To go on after a number. */
  readonly reason: string;
}

interface Given {
  readonly slots: readonly Slot[];
  readonly machines: readonly Machine[];
  readonly hosts: readonly Host[];
  readonly refuses: (host: HostView, slot: Slot) => string | undefined;
}

/**
 * Which Host each machine holds, or would be given were they made now, in this order. Machines are made at the same time, so
 * that two of one kind may as well get each other's.
 */
export function seatAll({ slots, machines, hosts, refuses }: Given): readonly Seat[] {
  const taken = new Set<string>();
  return slots.map((slot) => {
    const machine = machines.find(({ spec }) => spec.pool === slot.pool && spec.slot === slot.slot);
    const own = machine && heldOf(hosts.filter(({ status }) => status?.machineRef?.uid === machine.metadata.uid));
    const named = { ...slot, name: machine?.metadata.name ?? slot.name };
    if (own) return { slot: named, machine, host: toView(own), isHeld: true, rejected: new Map() };
    const { fitting, rejected } = sift(hosts, (host) =>
      taken.has(host.name) ? 'needed by machines before it' : refuses(host, slot),
    );
    const [host] = fitting;
    if (host) taken.add(host.metadata.name);
    return { slot: named, machine, host: host && toView(host), isHeld: false, rejected };
  });
}

/** The Hosts that nobody holds and that none of these would be given, each with what stands against it. */
export function sparesOf(
  seats: readonly Seat[],
  { hosts, refuses }: Pick<Given, 'hosts' | 'refuses'>,
): readonly Spare[] {
  const given = new Set(seats.map(({ host }) => host?.name));
  return hosts
    .filter(({ metadata, status }) => !given.has(metadata.name) && status?.machineRef === undefined)
    .map((host) => {
      const reasons = seats.map(({ slot }) => whyNot(host, hosts, (view) => refuses(view, slot)));
      return { host, reason: reasons.includes(undefined) ? notNeeded : (reasons[0] ?? notNeeded) };
    });
}

const notNeeded = 'free and not needed';
