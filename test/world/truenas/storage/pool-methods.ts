import { instanceNotFound } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { applyQuery, type Entry, instanceParameters, type QueryOptions, queryParameters } from '../middleware/query.ts';
import { type NasPool, type NasState, toExtendedJsonDate } from '../nas-state.ts';
import { computeSpace, usableBytes } from './dataset-files.ts';

const read = ['POOL_READ'];

/** `pool.*`, read-only. */
export const poolMethods: readonly ApiMethod[] = [
  {
    name: 'pool.query',
    parameters: queryParameters,
    access: read,
    run: async ([filters, options], { nas }) =>
      applyQuery(await describePools(nas, (options as QueryOptions).extra), filters, options as QueryOptions),
  },
  {
    name: 'pool.get_instance',
    parameters: instanceParameters(),
    access: read,
    run: async ([id], { nas }) => {
      const found = (await describePools(nas, {})).find((pool) => pool['id'] === id);
      if (!found) throw instanceNotFound('Pool', id);
      return found;
    },
  },
];

async function describePools(nas: NasState, extra: Entry): Promise<Entry[]> {
  const space = computeSpace(nas);
  return [...nas.pools.values()].map((pool) => {
    const used = (space.get(pool.name)?.used ?? 0) + pool.ballastBytes;
    // The model's default when the query does not request it (api: PoolEntry).
    return { ...describePool(nas, pool, used), is_upgraded: extra['is_upgraded'] === true };
  });
}

/** `free` and `allocated` count disk blocks, not writable space: a reservation is not allocated. */
function describePool(nas: NasState, pool: NasPool, used: number): Entry {
  const allocated = Math.min(used, usableBytes(pool.sizeBytes));
  const free = pool.sizeBytes - allocated;
  const isOnline = pool.status === 'ONLINE';
  if (pool.status === 'OFFLINE') return offlinePool(pool);
  return {
    id: pool.id,
    name: pool.name,
    guid: pool.guid,
    path: `/mnt/${pool.name}`,
    status: pool.status,
    scan: finishedScrub(nas),
    expand: null,
    topology: {
      data: [disk(pool, 'sda'), disk(pool, 'sdb')],
      log: [],
      cache: [],
      spare: [],
      special: [],
      dedup: [],
    },
    healthy: isOnline,
    warning: !isOnline,
    status_code: isOnline ? 'OK' : 'UNKNOWN',
    status_detail: isOnline ? null : 'One or more devices are not available.',
    size: pool.sizeBytes,
    allocated,
    free,
    freeing: 0,
    dedup_table_quota: 'auto',
    dedup_table_size: 0,
    fragmentation: '1',
    size_str: String(pool.sizeBytes),
    allocated_str: String(allocated),
    free_str: String(free),
    freeing_str: '0',
    autotrim: { value: 'off', rawvalue: 'off', parsed: 'off', source: 'DEFAULT' },
  };
}

/** A pool that is configured but was not found. */
function offlinePool({ id, name, guid }: NasPool): Entry {
  const numbers = ['size', 'allocated', 'free', 'freeing', 'fragmentation', 'dedup_table_quota', 'dedup_table_size'];
  const words = ['scan', 'expand', 'topology', 'status_code', 'status_detail', 'size_str', 'allocated_str', 'free_str'];
  return {
    id,
    name,
    guid,
    path: `/mnt/${name}`,
    status: 'OFFLINE',
    healthy: false,
    warning: false,
    ...Object.fromEntries([...numbers, ...words, 'freeing_str'].map((key) => [key, null])),
    autotrim: { value: 'off', rawvalue: 'off', parsed: 'off', source: 'DEFAULT' },
  };
}

function finishedScrub(nas: NasState): Entry {
  return {
    function: 'SCRUB',
    state: 'FINISHED',
    start_time: toExtendedJsonDate(nas.bootedAt),
    end_time: toExtendedJsonDate(nas.bootedAt),
    percentage: 100,
    bytes_to_process: 0,
    bytes_processed: 0,
    bytes_issued: 0,
    pause: null,
    errors: 0,
    total_secs_left: null,
  };
}

function disk(pool: NasPool, name: string): Entry {
  return {
    name: `${pool.guid}-${name}`,
    type: 'DISK',
    path: `/dev/disk/by-partuuid/${pool.guid}-${name}`,
    guid: `${pool.guid}0`,
    status: pool.status,
    stats: {
      timestamp: 0,
      read_errors: 0,
      write_errors: 0,
      checksum_errors: 0,
      ops: [0, 0, 0, 0, 0, 0, 0],
      bytes: [0, 0, 0, 0, 0, 0, 0],
      size: pool.sizeBytes,
      allocated: 0,
      fragmentation: 0,
      self_healed: 0,
      configured_ashift: 12,
      logical_ashift: 9,
      physical_ashift: 12,
    },
    children: [],
    device: `${name}1`,
    disk: name,
    unavail_disk: null,
  };
}
