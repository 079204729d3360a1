import { type ApiMethod, plainMethod } from '../middleware/method.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import type { NasPool, NasState } from '../nas-state.ts';
import { computeSpace, usableBytes } from './dataset-files.ts';

/** `pool.*`, read-only. */
export const poolMethods: readonly ApiMethod[] = [
  plainMethod('pool.query', queryParameters, ['POOL_READ'], ([filters, options], { nas }) =>
    applyQuery(describePools(nas), filters, options as QueryOptions),
  ),
];

function describePools(nas: NasState): Entry[] {
  const space = computeSpace(nas);
  return [...nas.pools.values()].map((pool) =>
    describePool(pool, (space.get(pool.name)?.used ?? 0) + pool.ballastBytes),
  );
}

/**
 * `free` and `allocated` count disk blocks, not writable space: a reservation is not allocated. A pool that is
 * configured but was not found has neither.
 */
function describePool(pool: NasPool, used: number): Entry {
  const { id, name, guid, status, sizeBytes } = pool;
  const isFound = status !== 'OFFLINE';
  const allocated = Math.min(used, usableBytes(sizeBytes));
  const isOnline = status === 'ONLINE';
  return {
    id,
    name,
    guid,
    path: `/mnt/${name}`,
    status,
    healthy: isOnline,
    warning: isFound && !isOnline,
    status_code: !isFound ? null : isOnline ? 'OK' : 'UNKNOWN',
    status_detail: isFound && !isOnline ? 'One or more devices are not available.' : null,
    size: isFound ? sizeBytes : null,
    allocated: isFound ? allocated : null,
    free: isFound ? sizeBytes - allocated : null,
    topology: isFound ? { data: [disk(pool, 'sda'), disk(pool, 'sdb')], log: [], cache: [], spare: [] } : null,
  };
}

const disk = ({ guid, status }: NasPool, name: string): Entry => ({
  name: `${guid}-${name}`,
  type: 'DISK',
  path: `/dev/disk/by-partuuid/${guid}-${name}`,
  status,
  device: `${name}1`,
  disk: name,
});
