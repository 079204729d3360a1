import { z } from 'zod';
import type { PreflightContext } from '../../../engine/contexts.ts';
import type { Diagnostic } from '../../../engine/diagnostic.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { checkImageSize, downloadImage, ensureSchematic, isoUrl } from '../../../talos/image-factory/client.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { NetworkInterface } from '../api/schema.ts';
import type { TrueNasCallOptions } from '../api/subscriber.ts';
import type { TrueNasConfig, VmSize } from '../config/config.ts';
import type { TrueNasErrorCode } from '../error-codes.ts';
import { hasCode } from '../errors.ts';
import { formatGiB, preflightDiskSpace, sumBytes } from './preflight-disk-space.ts';

type Context = PreflightContext<TrueNasConfig>;

/**
 * The shortage of disk space, memory, addresses or the image if the machines of a cluster were created now. Results of
 * `check`, such as a missing pool or role, are not repeated.
 */
export async function preflight(context: Context): Promise<readonly Diagnostic[]> {
  const nas = connectTrueNas(context);
  const options: TrueNasCallOptions = { signal: context.signal };
  const found = await Promise.all(
    [
      preflightDiskSpace(nas, context, sizesOf(context.config, context.machines)),
      preflightMemory(nas, context, options),
      preflightAddresses(nas, context, options),
    ].map(
      async (check) =>
        await check.catch((error: unknown) => {
          if (hasCode(error, 'TRUENAS_ROLE_MISSING')) return [];
          throw error;
        }),
    ),
  );
  return [...found.flat(), ...(await preflightImage(context))];
}

async function preflightMemory(
  nas: TrueNasClient,
  context: Context,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  // TrueNAS answers in bytes, while sizes are in MiB.
  const available = await nas.read('vm.get_available_memory', [false], z.number(), options);
  const wanted = sizesOf(context.config, context.machines).map(({ memoryMiB }) => memoryMiB * 2 ** 20);
  let left = available;
  const fits = wanted.findIndex((bytes) => {
    left -= bytes;
    return left < 0;
  });
  if (fits < 0) return [];
  const message = `${nas.host} can guarantee the memory of ${fits} of ${wanted.length} machines of a cluster: ${formatGiB(available)} are available, all of them take ${formatGiB(sumBytes(wanted))}. Stop other virtual machines, or choose smaller sizes.`;
  return [{ field: 'truenas.sizes', reason: 'InsufficientMemory', message }];
}

/** The sizes of the machines, in the order of their creation. */
const sizesOf = (config: TrueNasConfig, machines: Context['machines']): VmSize[] =>
  machines.flatMap(({ size }) => config.sizes.find(({ name }) => name === size) ?? []);

/** The system's own addresses must not be in a pool. */
async function preflightAddresses(
  nas: TrueNasClient,
  { isPoolAddress }: Context,
  options: TrueNasCallOptions,
): Promise<Diagnostic[]> {
  const interfaces = await nas.read('interface.query', [], z.array(NetworkInterface), options);
  const own = interfaces.flatMap(({ name, aliases, state }) =>
    [...(aliases ?? []), ...(state?.aliases ?? [])].map(({ address }) => ({ name, address })),
  );
  const taken = new Map(
    own.filter(({ address }) => isPoolAddress(address)).map(({ name, address }) => [address, name]),
  );
  return [...taken].map(([address, name]) => ({
    field: 'network.addressPool',
    reason: 'AddressTaken',
    message: `${address} is an address of ${nas.host}, at its interface ${name}. Remove it from the pool.`,
  }));
}

const fieldByCode: Readonly<Record<string, string>> = {
  FACTORY_SCHEMATIC_REFUSED: 'talos.extensions',
  FACTORY_SCHEMATIC_DIFFERS: 'talos.extensions',
  FACTORY_IMAGE_MISSING: 'talos',
  FACTORY_IMAGE_TOO_LARGE: 'talos.extensions',
  FACTORY_UNAUTHORIZED: 'talos.factoryUrl',
} satisfies Partial<Record<TrueNasErrorCode, string>>;

/** Checks that the image factory provides the image. The factory builds a missing image and caches it. */
async function preflightImage({ talos, signal, log }: Context): Promise<Diagnostic[]> {
  const { factoryUrl, schematic, version } = talos;
  const seen = new AbortController();
  try {
    const schematicId = await ensureSchematic(factoryUrl, schematic, { signal, log });
    const url = isoUrl({ factoryUrl, platform: 'nocloud', schematicId, version });
    // A HEAD request would not return the reason of a failure.
    const { bytes } = await downloadImage(url, { signal: AbortSignal.any([signal, seen.signal]) });
    if (bytes !== undefined) checkImageSize(bytes);
    return [];
  } catch (error) {
    const field = error instanceof ProviderError ? fieldByCode[error.code] : undefined;
    if (!(error instanceof ProviderError) || field === undefined) throw error;
    return [{ field, reason: 'ImageMissing', message: error.message }];
  } finally {
    seen.abort();
  }
}
