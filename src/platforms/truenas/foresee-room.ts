import type { Finding, ForesightContext } from '../../engine/platform.ts';
import type { TrueNas } from './client.ts';
import type { Size, TrueNasConfig } from './config.ts';
import { deepestDataset } from './prefix.ts';

type Context = ForesightContext<TrueNasConfig>;

const gibibyte = 2 ** 30;
/** TrueNAS refuses a disk that is larger than this part of what is available (middleware: plugins/pool_/dataset.py). */
const largestPart = 0.8;
/** ZFS reserves a little more than the size of a disk, for what it notes about its blocks. */
const withNotes = 1.02;

/** Whether the disks of the machines have room on each pool that holds one. */
export async function foreseeRoom(
  nas: TrueNas,
  { config, signal }: Context,
  machines: readonly Size[],
): Promise<Finding[]> {
  const pools = [...new Set(machines.flatMap((size) => disksOf(size, config).map(({ pool }) => pool)))];
  const looks = pools.map(async (pool) => {
    const { datasetPrefix } = config;
    const dataset = await deepestDataset({ nas, signal }, { pool, datasetPrefix });
    const available = Number(dataset?.available?.rawvalue ?? Number.NaN);
    if (!dataset || !Number.isFinite(available)) return [];
    const wanted = machines
      .map((size) => disksOf(size, config).flatMap((disk) => (disk.pool === pool ? [disk.sizeGiB * gibibyte] : [])))
      .filter((bytes) => bytes.length > 0);
    const fits = countFitting(wanted, available);
    if (fits === wanted.length) return [];
    const message = `${dataset.id} has room for the disks of ${fits} of ${wanted.length} machines of a cluster: ${inGiB(available)} are available, all disks take ${inGiB(total(wanted.flat()))}, and TrueNAS wants a fifth to stay free. Free some, or name another pool.`;
    return [{ field: pool === config.pool ? 'truenas.pool' : 'truenas.sizes', reason: 'RoomShort', message }];
  });
  return (await Promise.all(looks)).flat();
}

/** In the order in which they would be made. */
const disksOf = ({ diskGiB, disks = [] }: Size, config: TrueNasConfig) => [
  { pool: config.pool, sizeGiB: diskGiB },
  ...disks.map(({ pool = config.pool, sizeGiB }) => ({ pool, sizeGiB })),
];

/** How many machines get all of their disks, one after the other. */
function countFitting(machines: readonly (readonly number[])[], available: number): number {
  let left = available;
  const fits = machines.findIndex((disks) =>
    disks.some((bytes) => {
      const tooLarge = bytes > left * largestPart;
      left -= bytes * withNotes;
      return tooLarge;
    }),
  );
  return fits < 0 ? machines.length : fits;
}

/** The sum of sizes in bytes. */
export const total = (bytes: readonly number[]): number => bytes.reduce((sum, each) => sum + each, 0);
/** As people are told. */
export const inGiB = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;
