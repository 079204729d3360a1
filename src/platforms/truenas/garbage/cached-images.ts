import { z } from 'zod';
import type { GarbageContext, ResourcesInUse, SharedResource } from '../../../engine/capabilities/garbage.ts';
import type { Facts } from '../../../engine/step.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { Dataset, Vm } from '../api/schema.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { destroyOwnDatasets } from '../resources/dataset/destroy-datasets.ts';
import { isOwnDataset, unusedSince, unusedSinceRemoval, unusedSinceUpdate } from '../resources/identity.ts';
import { backgroundTransfersOf } from '../resources/image/background-transfers.ts';
import { type CachedImage, cachedImageById, imageIdOf, imagesDatasetOf } from '../resources/image/cached-image.ts';
import { findDataset, setUserProperties } from '../resources/machine-scope.ts';

type Context = GarbageContext<TrueNasConfig>;

interface ImageDataset {
  readonly image: CachedImage;
  readonly id: string;
  readonly dataset: Dataset;
}

/** The boot images that this ProviderConfig has in its cache. One call without any, and two otherwise. */
export async function findCachedImages(context: Context): Promise<readonly SharedResource[]> {
  const { signal } = context;
  const nas = connectTrueNas(context);
  const found = await findImageDatasets(context, nas);
  if (found.length === 0) return [];
  const vms = await nas.read('vm.query', [], z.array(Vm), { signal });
  const paths = vms.flatMap(({ devices }) => devices.flatMap(({ attributes: { path } }) => path ?? []));
  return found.map((one) => ({
    description: `the boot image ${one.image.path} on ${nas.host}`,
    isAttached: paths.some((path) => isInside(path, `/mnt/${one.dataset.id}`)),
    isNamedIn: (inUse) => isNamed(context, one, inUse),
    unusedSince: unusedSince(one.dataset),
    recordUnusedSince: async (since) => {
      const change = since ? unusedSinceUpdate(since) : unusedSinceRemoval;
      await setUserProperties({ nas, signal }, one.dataset.id, change);
    },
    remove: (isNamedNow) => removeImage(context, nas, one, isNamedNow),
  }));
}

/** The images of this ProviderConfig with our mark and the matching name. */
async function findImageDatasets({ config, instance, signal }: Context, nas: TrueNasClient): Promise<ImageDataset[]> {
  const parent = imagesDatasetOf(config);
  const below = [[['id', '^', `${parent}/`]], { extra: { retrieve_children: false } }];
  const datasets = await nas.read('pool.dataset.query', below, z.array(Dataset), { signal });
  return datasets.flatMap((dataset) => {
    const id = dataset.id.slice(parent.length + 1);
    const image = cachedImageById(id, config, instance);
    return !id.includes('/') && !dataset.locked && isOwnDataset(dataset, image.owner) ? [{ image, id, dataset }] : [];
  });
}

function isNamed({ instance }: Context, { id, dataset }: ImageDataset, { talos, facts }: ResourcesInUse): boolean {
  const isRecorded = ({ image }: Facts) => typeof image === 'string' && isInside(image, `/mnt/${dataset.id}`);
  return talos.some((one) => imageIdOf(one, instance) === id) || facts.some(isRecorded);
}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/**
 * Attachments are checked again right before the deletion, because TrueNAS stops the machines that use a deleted
 * dataset. A machine that needs the image meanwhile waits for the removal and transfers it again.
 */
async function removeImage(
  context: Context,
  nas: TrueNasClient,
  { image, dataset }: ImageDataset,
  isNamedNow: () => Promise<boolean>,
): Promise<boolean> {
  const { signal, log } = context;
  const removed = await backgroundTransfersOf(context, nas).instead(dataset.id, { removing: true }, async () => {
    if (await isNamedNow()) return false;
    const before = await findDataset({ nas, signal }, dataset.id);
    // Another process may have removed the record, because the image is needed there.
    if (!before || !unusedSince(before)) return false;
    const outcome = await destroyOwnDatasets({ nas, signal, owner: image.owner }, [
      { id: dataset.id, path: `/mnt/${dataset.id}` },
    ]);
    if (outcome.kind === 'fail')
      log.info({ image: image.path, why: outcome.message }, 'an old boot image could not be removed');
    return outcome.kind === 'done';
  });
  return removed ?? false;
}
