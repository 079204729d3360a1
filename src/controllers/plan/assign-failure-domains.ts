import { chooseFailureDomain, type PlacedMachine } from '../cluster/choose-failure-domain.ts';
import type { HostAssignment } from './assign-hosts.ts';

/**
 * Each slot with the failure domain of its Machine, or the one that it would get if it were created now, in this order.
 */
export function assignFailureDomains(
  assignments: readonly HostAssignment[],
  names: readonly string[],
  ofConfig: readonly PlacedMachine[],
): readonly HostAssignment[] {
  const known = assignments.flatMap(({ machine }) => (machine ? [machine.spec] : []));
  const made: PlacedMachine[] = [];
  return assignments.map((assignment) => {
    const { slot, machine } = assignment;
    if (machine) return { ...assignment, slot: { ...slot, failureDomain: machine.spec.failureDomain } };
    const failureDomain = chooseFailureDomain(names, slot.pool, [...known, ...made], [...ofConfig, ...made]);
    made.push({ pool: slot.pool, failureDomain });
    return { ...assignment, slot: { ...slot, failureDomain } };
  });
}
