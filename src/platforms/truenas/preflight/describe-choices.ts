/** What there is in place of what was named, as a sentence. */
export function describeChoices(what: string, names: readonly string[]): string {
  return names.length > 0 ? `There are these ${what}: ${[...names].sort().join(', ')}.` : `It has no ${what} at all.`;
}
