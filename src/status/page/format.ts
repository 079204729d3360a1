const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration in its two largest units, e.g. `2 min 5 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < minute) return `${whole} s`;
  if (whole < hour) return joinUnits(Math.floor(whole / minute), 'min', whole % minute, 's');
  if (whole < 2 * day) return joinUnits(Math.floor(whole / hour), 'h', Math.floor((whole % hour) / minute), 'min');
  return `${Math.floor(whole / day)} days`;
}

const joinUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/** In its largest unit only, for places with little room. */
export function formatShortSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < minute) return `${whole} s`;
  if (whole < hour) return `${Math.round(whole / minute)} min`;
  return whole < 2 * day ? `${Math.round(whole / hour)} h` : `${Math.floor(whole / day)} d`;
}

/** Seconds between two times; never negative. */
export const secondsBetween = (from: string, to: number): number => Math.max(0, (to - Date.parse(from)) / 1000);

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** The local time of day, with the date if it is another day. */
export function formatClock(time: string, now: number): string {
  const at = new Date(time);
  const clock = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
  const isToday = at.toDateString() === new Date(now).toDateString();
  return isToday ? clock : `${at.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${clock}`;
}

/** `1 cluster`, `2 clusters`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
