import { chooseSite, type Placed } from './cluster/choose-site.ts';
import type { Seat } from './seating.ts';

/** Each with the place that its machine is at, or would be made at were they made now, in this order. */
export function placeSeats(
  seats: readonly Seat[],
  names: readonly string[],
  ofConfig: readonly Placed[],
): readonly Seat[] {
  const known = seats.flatMap(({ machine }) => (machine ? [machine.spec] : []));
  const made: Placed[] = [];
  return seats.map((seat) => {
    const { slot, machine } = seat;
    if (machine) return { ...seat, slot: { ...slot, site: machine.spec.site } };
    const site = chooseSite(names, slot.pool, [...known, ...made], [...ofConfig, ...made]);
    made.push({ pool: slot.pool, site });
    return { ...seat, slot: { ...slot, site } };
  });
}
