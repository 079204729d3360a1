/** The fields of a Machine that the choice depends on. */
export interface PlacedMachine {
  readonly pool: string;
  readonly failureDomain?: string | undefined;
}

/**
 * Chooses the failure domain of the next Machine of a pool: the one with the fewest Machines of the same cluster and
 * pool, then with the fewest of the ProviderConfig, then the first of the list. Undefined: the platform has only one.
 * Availability does not count, so that the choice is predictable from the list.
 *
 * The caller chooses for the Machines of one cluster one after the other and passes the earlier choices. Clusters
 * choose concurrently: the caller adds the recent choices of other clusters to `ofConfig`.
 */
export function chooseFailureDomain(
  names: readonly string[],
  pool: string,
  ofCluster: readonly PlacedMachine[],
  ofConfig: readonly PlacedMachine[],
): string | undefined {
  const ranked = names.map((name, index) => {
    const isHere = ({ failureDomain }: PlacedMachine): boolean => failureDomain === name;
    const alike = ofCluster.filter((one) => isHere(one) && one.pool === pool).length;
    return { name, rank: [alike, ofConfig.filter(isHere).length, index] };
  });
  return ranked.sort((a, b) => compareLexicographically(a.rank, b.rank))[0]?.name;
}

/** The first difference decides. */
function compareLexicographically(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
