import type { Pool } from '../../api/schema.ts';

/**
 * Datasets with the guid of their pool, e.g. `1234567890:tank/talos/shop_cp_0_abcdefgh`, so that a pool of the same
 * name, e.g. of a replacement system, is not taken for it. Empty when a pool has no guid.
 */
export function toDatasetRefs(pools: readonly Pool[], datasets: readonly string[]): readonly string[] {
  const pinned = datasets.flatMap((id) => {
    const pool = pools.find(({ name }) => name === id.split('/')[0]);
    return pool?.guid ? [`${pool.guid}:${id}`] : [];
  });
  return pinned.length === datasets.length ? pinned : [];
}

/** The guid of the pool, and the dataset. */
export function parseDatasetRef(root: string): { readonly pool: string; readonly dataset: string } {
  const at = root.indexOf(':');
  return { pool: root.slice(0, at), dataset: root.slice(at + 1) };
}
