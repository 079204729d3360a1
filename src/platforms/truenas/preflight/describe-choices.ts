/** A sentence with the existing names, in place of an unknown one. */
export function describeChoices(what: string, names: readonly string[]): string {
  return names.length > 0 ? `Existing ${what}: ${[...names].sort().join(', ')}.` : `It has no ${what}.`;
}
