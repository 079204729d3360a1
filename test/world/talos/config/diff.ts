/** The differing lines in the style of `diff`. They also show which values a real node reveals in an error text. */
export function diffLines(before: string, after: string): string {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const gone = old.filter((line) => !fresh.includes(line)).map((line) => `-${line}`);
  const come = fresh.filter((line) => !old.includes(line)).map((line) => `+${line}`);
  return [...gone, ...come].join('\n');
}
