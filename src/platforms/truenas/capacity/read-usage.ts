import { z } from 'zod';
import type { SystemUsage, VolumeUsage } from '../../../engine/capabilities/usage.ts';
import type { PlatformContext } from '../../../engine/contexts.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { isPoolWorking, Pool } from '../api/schema.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { hasCode } from '../errors.ts';
import { candidatePoolsOf } from './choose-pool.ts';

const Bytes = z.object({ rawvalue: z.string().nullish() }).nullish();

/** The root dataset of a pool: its sizes are usable sizes, after redundancy. */
const RootDataset = z.object({ id: z.string(), available: Bytes, used: Bytes });

const toBytes = (value: z.infer<typeof Bytes>): number => Number(value?.rawvalue ?? Number.NaN);

/** The memory that further machines can be given, and the space on the pools of the configuration. */
export async function readUsage({ config, ...context }: PlatformContext<TrueNasConfig>): Promise<SystemUsage> {
  const nas = connectTrueNas({ ...context, config });
  const options: TrueNasCallOptions = { signal: context.signal };
  const [memory, volumes] = await Promise.all([readMemory(nas, options), readVolumes(nas, config, options)]);
  return { system: nas.host, ...(memory === undefined ? {} : { memory: { availableBytes: memory } }), volumes };
}

async function readMemory(nas: TrueNasClient, options: TrueNasCallOptions): Promise<number | undefined> {
  try {
    return await nas.read('vm.get_available_memory', [false], z.number(), options);
  } catch (error) {
    if (hasCode(error, 'TRUENAS_ROLE_MISSING')) return undefined;
    throw error;
  }
}

async function readVolumes(
  nas: TrueNasClient,
  config: TrueNasConfig,
  options: TrueNasCallOptions,
): Promise<VolumeUsage[]> {
  const names = candidatePoolsOf(config);
  const roots = [['id', 'in', names]];
  const select = { extra: { retrieve_children: false }, select: Object.keys(RootDataset.shape) };
  const [pools, datasets] = await Promise.all([
    nas.read('pool.query', [[['name', 'in', names]], { select: Object.keys(Pool.shape) }], z.array(Pool), options),
    nas.read('pool.dataset.query', [roots, select], z.array(RootDataset), options),
  ]);
  return datasets.flatMap(({ id, available, used }) => {
    const [availableBytes, usedBytes] = [toBytes(available), toBytes(used)];
    const pool = pools.find(({ name }) => name === id);
    if (!Number.isFinite(availableBytes)) return [];
    const totalBytes = availableBytes + usedBytes;
    return {
      name: id,
      availableBytes,
      ...(Number.isFinite(totalBytes) ? { totalBytes } : {}),
      isHealthy: pool?.healthy === true && isPoolWorking(pool),
    };
  });
}
