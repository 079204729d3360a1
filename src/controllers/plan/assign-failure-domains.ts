import { chooseFailureDomain, type PlacedMachine } from '../cluster/choose-failure-domain.ts';
import type { HostAssignment } from './assign-hosts.ts';

/**
 * Each slot with the failure domain of its Machine, or the one that it would get if it were created now, in this order.
 */
export function assignFailureDomains(
  seats: readonly HostAssignment[],
  names: readonly string[],
  ofConfig: readonly PlacedMachine[],
): readonly HostAssignment[] {
  const known = seats.flatMap(({ machine }) => (machine ? [machine.spec] : []));
  const made: PlacedMachine[] = [];
  return seats.map((seat) => {
    const { slot, machine } = seat;
    if (machine) return { ...seat, slot: { ...slot, site: machine.spec.site } };
    const site = chooseFailureDomain(names, slot.pool, [...known, ...made], [...ofConfig, ...made]);
    made.push({ pool: slot.pool, site });
    return { ...seat, slot: { ...slot, site } };
  });
}
