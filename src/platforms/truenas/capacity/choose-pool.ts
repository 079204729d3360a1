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

/** The pools for machines. The first also holds the boot images. */
export const candidatePoolsOf = ({
  pool,
  furtherPools = [],
}: Pick<TrueNasConfig, 'pool' | 'furtherPools'>): readonly string[] => [...new Set([pool, ...furtherPools])];

/**
 * The configuration with the pool for a machine: of several pools the one with most available space now, quotas below
 * the prefix included. Makes no call for a single pool, or when the machine has a pool already.
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
  // Without a usable pool the first is taken, and the following steps report the reason.
  return pool === undefined ? config : { ...config, pool };
}

/** Available bytes of each working pool. */
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

/** Bytes that the machine needs on the chosen pool. */
function bytesOnChosenPool(context: TrueNasStepContext): number {
  const { diskGiB, disks = [] } = getVmSize(context);
  const data = disks.reduce((sum, { pool, sizeGiB }) => sum + (pool === undefined ? sizeGiB : 0), 0);
  return (diskGiB + data) * 2 ** 30;
}

/** One table for each system, whatever key is used. */
export const diskSpaceReservationsOf = (context: TrueNasRemovalContext): DiskSpaceReservations =>
  context.connections.get(
    `truenas-disk-space:${systemEndpointOf(context.config).socketUrl}`,
    () => new DiskSpaceReservations(context.clock),
  );
