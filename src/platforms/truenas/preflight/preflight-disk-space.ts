import type { PreflightContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import type { TrueNasClient } from '../api/client.ts';
import type { Dataset } from '../api/schema.ts';
import { candidatePoolsOf } from '../capacity/choose-pool.ts';
import { maxDiskShare, zfsMetadataFactor } from '../capacity/disk-space.ts';
import type { TrueNasConfig, VmSize } from '../config/config.ts';
import { findDeepestDataset } from '../resources/dataset/find-deepest-dataset.ts';

type Context = PreflightContext<TrueNasConfig>;

const gibibyte = 2 ** 30;

/** Checks that the disks of the machines fit on each pool. */
export async function preflightDiskSpace(
  nas: TrueNasClient,
  { config, signal }: Context,
  machines: readonly VmSize[],
): Promise<Diagnostic[]> {
  const { datasetPrefix } = config;
  const named = machines.flatMap(({ disks = [] }) => disks.flatMap(({ pool }) => (pool === undefined ? [] : [pool])));
  const found = await Promise.all(
    [...new Set([...candidatePoolsOf(config), ...named])].map(async (pool) => {
      const dataset = await findDeepestDataset({ nas, signal }, { pool, datasetPrefix });
      const available = Number(dataset?.available?.rawvalue ?? Number.NaN);
      return dataset && Number.isFinite(available) ? [{ pool, dataset, available }] : [];
    }),
  );
  const pools = found.flat();
  const wanted = assignDisksToPools(machines, config, new Map(pools.map(({ pool, available }) => [pool, available])));
  return pools.flatMap(({ pool, dataset, available }) => {
    const message = describeShortage(dataset, available, wanted.get(pool) ?? []);
    return message === undefined ? [] : [{ field: poolField(pool, config), reason: 'InsufficientDiskSpace', message }];
  });
}

const poolField = (pool: string, config: TrueNasConfig): string => {
  const place = candidatePoolsOf(config).indexOf(pool);
  return place < 0 ? 'truenas.sizes' : place === 0 ? 'truenas.pool' : 'truenas.furtherPools';
};

/** Sizes of the disks on each pool, by machine, in the order of their creation. */
function assignDisksToPools(
  machines: readonly VmSize[],
  config: TrueNasConfig,
  available: ReadonlyMap<string, number>,
): ReadonlyMap<string, number[][]> {
  const left = new Map(available);
  const wanted = new Map<string, number[][]>();
  for (const { diskGiB, disks = [] } of machines) {
    const [home = config.pool] = candidatePoolsOf(config)
      .filter((pool) => left.has(pool))
      .sort((a, b) => (left.get(b) ?? 0) - (left.get(a) ?? 0));
    const all = [{ pool: home, sizeGiB: diskGiB }, ...disks.map((disk) => ({ ...disk, pool: disk.pool ?? home }))];
    for (const pool of new Set(all.map((disk) => disk.pool))) {
      const bytes = all.filter((disk) => disk.pool === pool).map(({ sizeGiB }) => sizeGiB * gibibyte);
      wanted.set(pool, [...(wanted.get(pool) ?? []), bytes]);
      left.set(pool, (left.get(pool) ?? 0) - sumBytes(bytes) * zfsMetadataFactor);
    }
  }
  return wanted;
}

function describeShortage(
  dataset: Dataset,
  available: number,
  machines: readonly (readonly number[])[],
): string | undefined {
  const fits = countFitting(machines, available);
  if (fits === machines.length) return undefined;
  return `${dataset.id} has space for the disks of ${fits} of ${machines.length} machines of a cluster: ${formatGiB(available)} are available, all disks take ${formatGiB(sumBytes(machines.flat()))}, and TrueNAS requires a fifth to remain free. Free some space, or use another pool.`;
}

/** Number of machines whose disks all fit, one machine after the other. */
function countFitting(machines: readonly (readonly number[])[], available: number): number {
  let left = available;
  const fits = machines.findIndex((disks) =>
    disks.some((bytes) => {
      const tooLarge = bytes > left * maxDiskShare;
      left -= bytes * zfsMetadataFactor;
      return tooLarge;
    }),
  );
  return fits < 0 ? machines.length : fits;
}

/** Sum of sizes in bytes. */
export const sumBytes = (bytes: readonly number[]): number => bytes.reduce((sum, each) => sum + each, 0);
/** Text for users. */
export const formatGiB = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;
