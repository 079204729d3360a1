const units = [
  { name: 'day', letter: 'd', seconds: 86_400 },
  { name: 'hour', letter: 'h', seconds: 3600 },
  { name: 'minute', letter: 'm', seconds: 60 },
  { name: 'second', letter: 's', seconds: 1 },
] as const;

const secondUnit = units[3];

/** Two of a unit and more are precise enough without the next smaller one. */
function roundAge(since: string, now: Date) {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1000));
  const unit = units.find((one) => seconds >= 2 * one.seconds) ?? secondUnit;
  return { unit, count: Math.floor(seconds / unit.seconds) };
}

/** The time since a timestamp, for a sentence: `3 minutes`. An invalid timestamp is `an unknown time`. */
export function describeAge(since: string, now: Date): string {
  if (Number.isNaN(Date.parse(since))) return 'an unknown time';
  const { unit, count } = roundAge(since, now);
  return `${count} ${unit.name}${count === 1 ? '' : 's'}`;
}

/** The time since a timestamp, for a column: `3m`. */
export function formatAge(since: string | undefined, now: Date): string {
  if (since === undefined || Number.isNaN(Date.parse(since))) return '-';
  const { unit, count } = roundAge(since, now);
  return `${count}${unit.letter}`;
}
