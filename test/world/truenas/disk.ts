import type { Method } from './method.ts';
import type { Pool } from './nas.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from './query.ts';

/** `disk.query`: two disks for each pool. */
export const diskMethods: readonly Method[] = [
  {
    name: 'disk.query',
    parameters: queryParameters,
    access: ['DISK_READ'],
    run: ([filters, options], { nas }) => {
      const letters = 'abcdefghijklmnopqrstuvwxyz';
      const disks = [...nas.pools.values()].flatMap((pool) => [pool, pool]);
      return applyQuery(
        disks.map((pool, index) => describeDisk(pool, `sd${letters[index] ?? index}`, index)),
        filters,
        options as QueryOptions,
      );
    },
  },
];

function describeDisk(pool: Pool, name: string, index: number): Entry {
  const serial = `SIM${String(index + 1).padStart(5, '0')}`;
  return {
    identifier: `{serial}${serial}`,
    name,
    subsystem: 'scsi',
    number: 2048 + index,
    serial,
    lunid: null,
    size: pool.sizeBytes,
    description: '',
    transfermode: 'Auto',
    hddstandby: 'ALWAYS ON',
    advpowermgmt: 'DISABLED',
    expiretime: null,
    model: 'SIMULATED',
    rotationrate: null,
    type: 'SSD',
    zfs_guid: pool.guid,
    bus: 'SCSI',
    devname: name,
    enclosure: null,
    pool: pool.name,
  };
}
