import type { RolloutWindow, Weekday } from '../../../api/schema/rollout-schema.ts';

/** Whether changes may begin now. */
export type WindowState =
  | { readonly kind: 'open' }
  /** `opensAt`: undefined if no window begins in the next days. */
  | { readonly kind: 'closed'; readonly opensAt: Date | undefined };

const dayMilliseconds = 86_400_000;
/** Days of which windows are computed: yesterday's may still be open, and next week's is the next of a weekly one. */
const firstDay = -2;
const lastDay = 9;

/** Without windows changes may always begin. The beginning belongs to a window, its end does not. */
export function findNextWindow(windows: readonly RolloutWindow[], now: Date): WindowState {
  if (windows.length === 0) return { kind: 'open' };
  const spans = windows.flatMap((window) => listSpans(window, now.getTime()));
  if (spans.some(({ from, to }) => from <= now.getTime() && now.getTime() < to)) return { kind: 'open' };
  const coming = spans.map(({ from }) => from).filter((from) => from > now.getTime());
  return { kind: 'closed', opensAt: coming.length > 0 ? new Date(Math.min(...coming)) : undefined };
}

/** Whether the zone is one of the IANA database that this program has. */
export function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** The times around `now` at which a window is open, in milliseconds since 1970. */
function listSpans({ days, from, to, timeZone }: RolloutWindow, now: number): Span[] {
  if (!isTimeZone(timeZone)) return [];
  const zone = new TimeZone(timeZone);
  const today = Math.floor(zone.toLocal(now) / dayMilliseconds) * dayMilliseconds;
  const [begin, end] = [parseTimeOfDay(from), parseTimeOfDay(to)];
  const isNextDay = end <= begin;
  const spans: Span[] = [];
  for (let i = firstDay; i <= lastDay; i++) {
    const day = today + i * dayMilliseconds;
    if (days.length > 0 && !days.includes(weekdayOf(day))) continue;
    const [first] = zone.toInstants(day + begin);
    const last = zone.toInstants(day + end + (isNextDay ? dayMilliseconds : 0)).at(-1);
    if (first !== undefined && last !== undefined) spans.push({ from: first, to: last });
  }
  return spans;
}

const parseTimeOfDay = (text: string): number => {
  const [hours, minutes] = text.split(':').map(Number);
  return ((hours ?? 0) * 60 + (minutes ?? 0)) * 60_000;
};

const weekdays: readonly Weekday[] = [
  ...(['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const),
];
const weekdayOf = (local: number): Weekday => weekdays[new Date(local).getUTCDay()] ?? 'Sunday';

/** Converts between instants and the local time of a zone, which is a number of milliseconds as if the zone were UTC. */
class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
  }

  toLocal(instant: number): number {
    const parts = Object.fromEntries(this.#format.formatToParts(instant).map(({ type, value }) => [type, value]));
    const [year, month, day] = [Number(parts['year']), Number(parts['month']), Number(parts['day'])];
    const [hour, minute, second] = [Number(parts['hour']), Number(parts['minute']), Number(parts['second'])];
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  /**
   * The instants of a local time: two when the clock is set back over it. A local time that the clock skips counts as if
   * the clock had not been set forward yet, so that a window in the skipped hour keeps its length.
   */
  toInstants(local: number): readonly number[] {
    const offsets = [local - dayMilliseconds, local + dayMilliseconds].map((near) => this.toLocal(near) - near);
    const candidates = [...new Set(offsets.map((offset) => local - offset))].sort((a, b) => a - b);
    const exact = candidates.filter((instant) => this.toLocal(instant) === local);
    return exact.length > 0 ? exact : candidates.slice(-1);
  }
}
