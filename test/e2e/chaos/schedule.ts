import { createHash } from 'node:crypto';
import type { ChaosEvent, Draw } from './event.ts';
import type { FleetLayout } from './fleet-layout.ts';

/** One event of the schedule. */
export interface PlannedStrike {
  readonly event: ChaosEvent;
  readonly target: string;
  /** For choices among what exists when it happens. */
  readonly number: number;
}

/** What happens on one day of the year, at the same time. */
export interface PlannedDay {
  readonly day: number;
  readonly strikes: readonly PlannedStrike[];
}

export interface ScheduleOptions {
  readonly seed: number;
  /** Number of events at least. */
  readonly events: number;
  /** Largest number of events on one day. */
  readonly perDay: number;
}

const drawOf = (seed: number): Draw => {
  let count = 0;
  return (below) => {
    count += 1;
    return createHash('sha256').update(`chaos ${seed} ${count}`).digest().readUInt32BE() % below;
  };
};

/** The same seed and layout give the same schedule. Each kind of event comes once before any comes again. */
export function planSchedule(
  kinds: readonly ChaosEvent[],
  layout: FleetLayout,
  { seed, events, perDay }: ScheduleOptions,
): PlannedDay[] {
  const draw = drawOf(seed);
  const possible = kinds.filter((event) => event.targets(layout).length > 0);
  let bag: ChaosEvent[] = [];
  const days: (readonly PlannedStrike[])[] = [];
  for (let count = 0; count < events; ) {
    const strikes: PlannedStrike[] = [];
    const wanted = 1 + draw(perDay);
    if (bag.length < wanted) bag = [...bag, ...shuffle(possible, draw)];
    for (const event of bag) {
      if (strikes.length === wanted) break;
      const strike = choose(event, strikes, layout, draw);
      if (strike) strikes.push(strike);
    }
    for (const { event } of strikes) bag.splice(bag.indexOf(event), 1);
    days.push(strikes);
    count += strikes.length;
  }
  return days.map((strikes, i) => ({ day: Math.max(1, Math.round(((i + 1) * 365) / days.length)), strikes }));
}

/** A target that no other event of the day concerns, if there is one. */
function choose(
  event: ChaosEvent,
  others: readonly PlannedStrike[],
  layout: FleetLayout,
  draw: Draw,
): PlannedStrike | undefined {
  const isAlone = event.uses === 'everything' || others.some((one) => one.event.uses === 'everything');
  if (isAlone && others.length > 0) return undefined;
  if (event.uses && others.some((one) => one.event.uses === event.uses)) return undefined;
  const busy = new Set(others.flatMap((one) => one.event.clusters(one.target, layout)));
  const free = event.targets(layout).filter((target) => !event.clusters(target, layout).some((one) => busy.has(one)));
  const target = free[draw(Math.max(1, free.length))];
  return target === undefined ? undefined : { event, target, number: draw(1000) };
}

function shuffle<T>(items: readonly T[], draw: Draw): T[] {
  const left = [...items];
  return items.map(() => left.splice(draw(left.length), 1)[0] as T);
}

export const describeStrike = ({ event, target }: PlannedStrike): string =>
  target === 'provider' ? event.name : `${event.name} (${target})`;

export const describeSchedule = (days: readonly PlannedDay[]): string =>
  days.map(({ day, strikes }) => `day ${day}: ${strikes.map(describeStrike).join('; ')}`).join('\n');
