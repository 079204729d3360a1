const milliseconds: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a Go duration: `90s`, `1h30m`, `1.5h`. Throws for an invalid one. */
export function parseDuration(text: string): number {
  const [, sign, rest = ''] = /^([+-]?)(.*)$/.exec(text) ?? [];
  const parts = [...rest.matchAll(/([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)/g)];
  const isWhole = parts.map(([part]) => part).join('') === rest && parts.length > 0;
  if (rest === '0') return 0;
  if (!isWhole) throw new RangeError(`"${text}" is not a duration, e.g. 1h30m`);
  const sum = parts.reduce((total, [, digits, unit = '']) => total + Number(digits) * (milliseconds[unit] ?? 0), 0);
  return sign === '-' ? -sum : sum;
}
