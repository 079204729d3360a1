import { z } from 'zod';
import { isPoolWorking, Pool } from '../api/schema.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { findDeepestDataset } from '../resources/dataset/find-deepest-dataset.ts';
import { vmIdentityOf } from '../resources/identity.ts';
import {
  getVmSize,
  machineScopeOf,
  type TrueNasRemovalContext,
  type TrueNasStepContext,
} from '../resources/machine-scope.ts';
import { DiskSpaceReservations } from './disk-space-reservations.ts';

/** The pools that machines may be put on. The first holds the boot images as well. */
export const candidatePoolsOf = ({
  pool,
  furtherPools = [],
}: Pick<TrueNasConfig, 'pool' | 'furtherPools'>): readonly string[] => [...new Set([pool, ...furtherPools])];

/**
 * The configuration with the pool that a machine is put on: of several the one with most room at this moment, by what can be
 * used below the prefix, quotas reckoned. Asks nothing where there is but one, or where the machine has one already.
 */
export async function withChosenPool(context: TrueNasStepContext): Promise<TrueNasConfig> {
  const { config, facts } = context;
  const pools = candidatePoolsOf(config);
  if (pools.length === 1 || typeof facts['dataset'] === 'string') return config;
  const available = await readAvailableBytes(context, pools);
  const pool = diskSpaceReservationsOf(context).choose(
    vmIdentityOf(context).uuid,
    bytesOnChosenPool(context),
    available,
  );
  // Where none can be used, the first says why in the steps that follow.
  return pool === undefined ? config : { ...config, pool };
}

/** What is to be had on each pool that works, in bytes. */
async function readAvailableBytes(
  context: TrueNasStepContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { nas, signal } = machineScopeOf(context);
  const { datasetPrefix } = context.config;
  const pools = await nas.read('pool.query', [], z.array(Pool), { signal });
  const working = pools.filter(isPoolWorking).map(({ name }) => name);
  const found = names
    .filter((name) => working.includes(name))
    .map(async (pool): Promise<[string, number][]> => {
      const dataset = await findDeepestDataset({ nas, signal }, { pool, datasetPrefix });
      const bytes = Number(dataset?.available?.rawvalue ?? Number.NaN);
      const isUsable = dataset?.type === 'FILESYSTEM' && !dataset.locked && Number.isFinite(bytes);
      return isUsable ? [[pool, bytes]] : [];
    });
  return new Map((await Promise.all(found)).flat());
}

/** What the machine takes on the pool that is chosen for it. */
function bytesOnChosenPool(context: TrueNasStepContext): number {
  const { diskGiB, disks = [] } = getVmSize(context);
  const data = disks.reduce((sum, { pool, sizeGiB }) => sum + (pool === undefined ? sizeGiB : 0), 0);
  return (diskGiB + data) * 2 ** 30;
}

/** The book of the system, whatever key it is spoken to with. */
export const diskSpaceReservationsOf = (context: TrueNasRemovalContext): DiskSpaceReservations =>
  context.connections.get(
    `truenas-room:${systemEndpointOf(context.config).socketUrl}`,
    () => new DiskSpaceReservations(context.clock),
  );
