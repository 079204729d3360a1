import { z } from 'zod';
import type { PlatformContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import type { TrueNasClient } from '../api/client.ts';
import { isPoolWorking, Pool } from '../api/schema.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { findDeepestDataset } from '../resources/dataset/find-deepest-dataset.ts';
import { namedPools } from '../resources/disk/data-disks.ts';
import { describeChoices } from './describe-choices.ts';

type Context = PlatformContext<TrueNasConfig>;

/** Every pool of the section has to exist and be writable. A degraded pool is advice. */
export async function checkPools(
  nas: TrueNasClient,
  { config }: Context,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  const pools = await nas.read('pool.query', [], z.array(Pool), options);
  const names = pools.map(({ name }) => name);
  return namedPools(config).flatMap(({ field, pool: name }) => {
    const pool = pools.find((one) => one.name === name);
    if (!pool) {
      const message = `${nas.host} has no pool ${name}. ${describeChoices('pools', names)}`;
      return [{ field, reason: 'PoolUnknown', message }];
    }
    if (!isPoolWorking(pool)) {
      const message = `The pool ${name} is ${pool.status}. Repair it before you create machines.`;
      return [{ field, reason: 'PoolUnhealthy', message }];
    }
    if (pool.healthy) return [];
    const message = `TrueNAS reports a problem of the pool ${name}, which still works (${pool.status}): look at its disks.`;
    return [{ field, reason: 'PoolDegraded', message, advice: true }];
  });
}

/** The parent dataset has to be an unlocked filesystem on each pool. */
export async function checkPrefixes(nas: TrueNasClient, { config, signal }: Context): Promise<Diagnostic[]> {
  const { datasetPrefix } = config;
  const pools = [...new Set(namedPools(config).map(({ pool }) => pool))];
  const datasets = await Promise.all(pools.map((pool) => findDeepestDataset({ nas, signal }, { pool, datasetPrefix })));
  return datasets.flatMap((dataset) => {
    const field = 'truenas.datasetPrefix';
    if (dataset && dataset.type !== 'FILESYSTEM') {
      const message = `${dataset.id} is a zvol and cannot contain datasets. Choose another prefix.`;
      return [{ field, reason: 'PrefixUnusable', message }];
    }
    if (dataset?.locked) {
      const message = `${dataset.id} is encrypted and locked. Unlock it, or choose another prefix.`;
      return [{ field, reason: 'DatasetLocked', message }];
    }
    return [];
  });
}
