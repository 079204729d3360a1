import type { ApiMethod } from '../middleware/method.ts';
import { applyQuery, type Entry, type QueryOptions, queryParameters } from '../middleware/query.ts';
import type { NasPool } from '../nas-state.ts';

/** `disk.query`: two disks for each pool. */
export const diskMethods: readonly ApiMethod[] = [
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

function describeDisk(pool: NasPool, name: string, index: number): Entry {
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
