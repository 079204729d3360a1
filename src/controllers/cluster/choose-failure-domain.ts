/** A machine as far as it counts for the choice. */
export interface PlacedMachine {
  readonly pool: string;
  readonly site?: string | undefined;
}

/**
 * Where the next machine of a pool is made: where there are fewest of the same cluster and pool, then fewest of the
 * ProviderConfig at all, then where the list names first. Undefined: the platform has but one place. Whether a place answers
 * just now does not count: who looks at the list can tell where a machine will be.
 *
 * The machines of a cluster are chosen for one after the other, by whoever makes them, and remember it: no two of them
 * choose at the same time. Those of other clusters do; who calls counts what was just chosen for them among `ofConfig`.
 */
export function chooseFailureDomain(
  names: readonly string[],
  pool: string,
  ofCluster: readonly PlacedMachine[],
  ofConfig: readonly PlacedMachine[],
): string | undefined {
  const ranked = names.map((name, index) => {
    const isHere = ({ site }: PlacedMachine): boolean => site === name;
    const alike = ofCluster.filter((one) => isHere(one) && one.pool === pool).length;
    return { name, rank: [alike, ofConfig.filter(isHere).length, index] };
  });
  return ranked.sort((a, b) => compareLexicographically(a.rank, b.rank))[0]?.name;
}

/** As words are compared: what comes first decides. */
function compareLexicographically(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
