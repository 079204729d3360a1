import { z } from 'zod';
import { endpointOf, type TrueNasConfig } from './config.ts';
import { identityOf } from './identity.ts';
import { deepestDataset } from './prefix.ts';
import { RoomBook } from './room-book.ts';
import { isPoolWorking, Pool } from './schema.ts';
import { type Context, type Removal, sizeOf, systemOf } from './system.ts';

/** The pools that machines may be put on. The first holds the boot images as well. */
export const poolsOf = ({
  pool,
  furtherPools = [],
}: Pick<TrueNasConfig, 'pool' | 'furtherPools'>): readonly string[] => [...new Set([pool, ...furtherPools])];

/**
 * The configuration with the pool that a machine is put on: of several the one with most room at this moment, by what can be
 * used below the prefix, quotas reckoned. Asks nothing where there is but one, or where the machine has one already.
 */
export async function withChosenPool(context: Context): Promise<TrueNasConfig> {
  const { config, facts } = context;
  const pools = poolsOf(config);
  if (pools.length === 1 || typeof facts['dataset'] === 'string') return config;
  const available = await lookForRoom(context, pools);
  const pool = roomOf(context).choose(identityOf(context).uuid, bytesOf(context), available);
  // Where none can be used, the first says why in the steps that follow.
  return pool === undefined ? config : { ...config, pool };
}

/** What is to be had on each pool that works, in bytes. */
async function lookForRoom(context: Context, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { nas, signal } = systemOf(context);
  const { datasetPrefix } = context.config;
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  const working = pools.filter(isPoolWorking).map(({ name }) => name);
  const found = names
    .filter((name) => working.includes(name))
    .map(async (pool): Promise<[string, number][]> => {
      const dataset = await deepestDataset({ nas, signal }, { pool, datasetPrefix });
      const bytes = Number(dataset?.available?.rawvalue ?? Number.NaN);
      const isUsable = dataset?.type === 'FILESYSTEM' && !dataset.locked && Number.isFinite(bytes);
      return isUsable ? [[pool, bytes]] : [];
    });
  return new Map((await Promise.all(found)).flat());
}

/** What the machine takes on the pool that is chosen for it. */
function bytesOf(context: Context): number {
  const { diskGiB, disks = [] } = sizeOf(context);
  const data = disks.reduce((sum, { pool, sizeGiB }) => sum + (pool === undefined ? sizeGiB : 0), 0);
  return (diskGiB + data) * 2 ** 30;
}

/** The book of the system, whatever key it is spoken to with. */
export const roomOf = (context: Removal): RoomBook =>
  context.connections.get(`truenas-room:${endpointOf(context.config).socketUrl}`, () => new RoomBook(context.clock));
