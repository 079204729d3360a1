import { z } from 'zod';
import type { GarbageContext, ResourcesInUse } from '../../../engine/capabilities/garbage.ts';
import type { Facts } from '../../../engine/step.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { Dataset, Vm } from '../api/schema.ts';
import type { TrueNasConfig } from '../config/config.ts';
import { destroyOwnDatasets } from '../resources/dataset/destroy-datasets.ts';
import { isOwnDataset, unusedSince, unusedSinceRemoval, unusedSinceUpdate } from '../resources/identity.ts';
import { backgroundTransfersOf } from '../resources/image/background-transfers.ts';
import { type CachedImage, cachedImageById, imageIdOf, imagesDatasetOf } from '../resources/image/cached-image.ts';
import { findDataset, setUserProperties } from '../resources/machine-scope.ts';
import { collectRetained } from './collect-retained.ts';

type Context = GarbageContext<TrueNasConfig>;

interface ImageDataset {
  readonly image: CachedImage;
  readonly id: string;
  readonly dataset: Dataset;
}

/** Hours that an image has to be unused before it is removed. */
const unusedHours = 24;

/**
 * Removes unused boot images: no virtual machine of the system has the image attached, whatever its owner, and no
 * ProviderConfig and no Machine names it, all for a day. Each condition is checked again right before the removal,
 * because TrueNAS stops the machines that use a deleted dataset.
 */
export async function collectSystemGarbage(context: Context): Promise<readonly string[]> {
  const nas = connectTrueNas(context);
  return [...(await collectImages(context, nas)), ...(await collectRetained(context, nas))];
}

async function collectImages(context: Context, nas: TrueNasClient): Promise<readonly string[]> {
  const found = await findImageDatasets(context, nas);
  if (found.length === 0) return [];
  const vms = await nas.read('vm.query', [], z.array(Vm), { signal: context.signal });
  const paths = vms.flatMap(({ devices }) => devices.flatMap(({ attributes: { path } }) => path ?? []));
  const isAttached = ({ dataset }: ImageDataset) => paths.some((path) => isInside(path, `/mnt/${dataset.id}`));
  // This reads the platform cluster, so it is done only when necessary.
  const needed = found.every(isAttached) ? undefined : await context.inUse();
  const removed: string[] = [];
  for (const one of found) {
    if (isAttached(one) || (needed && isNeeded(context, one, needed))) await clearUnusedSince(context, nas, one);
    else if (needed && (await isExpired(context, nas, one)) && (await removeImage(context, nas, one))) {
      removed.push(`The boot image ${one.image.path} on ${nas.host} was needed by nobody for a day and is removed.`);
    }
  }
  return removed;
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

function isNeeded({ instance }: Context, { id, dataset }: ImageDataset, { talos, facts }: ResourcesInUse): boolean {
  const named = ({ image }: Facts) => typeof image === 'string' && isInside(image, `/mnt/${dataset.id}`);
  return talos.some((one) => imageIdOf(one, instance) === id) || facts.some(named);
}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

async function clearUnusedSince({ signal }: Context, nas: TrueNasClient, { dataset }: ImageDataset): Promise<void> {
  if (unusedSince(dataset)) await setUserProperties({ nas, signal }, dataset.id, unusedSinceRemoval);
}

/** True when the image has been unused for long enough. The first time is recorded. */
async function isExpired({ clock, signal }: Context, nas: TrueNasClient, { dataset }: ImageDataset): Promise<boolean> {
  const since = unusedSince(dataset);
  const now = clock.now();
  // A date in the future was written with a wrong clock.
  if (since && since <= now) return now.getTime() - since.getTime() >= unusedHours * 3_600_000;
  await setUserProperties({ nas, signal }, dataset.id, unusedSinceUpdate(now));
  return false;
}

/** A machine that needs the image meanwhile waits for the removal and transfers it again. */
async function removeImage(context: Context, nas: TrueNasClient, found: ImageDataset): Promise<boolean> {
  const { image, dataset } = found;
  const { signal, log } = context;
  const removed = await backgroundTransfersOf(context, nas).instead(dataset.id, { removing: true }, async () => {
    const needed = await context.inUse();
    if (!needed || isNeeded(context, found, needed)) return false;
    const before = await findDataset({ nas, signal }, dataset.id);
    // Another process may have removed the note, because the image is needed there.
    if (!before || !unusedSince(before)) return false;
    const outcome = await destroyOwnDatasets({ nas, signal, owner: image.owner }, [
      { id: dataset.id, path: `/mnt/${dataset.id}` },
    ]);
    if (outcome.kind === 'fail') log.info({ image: image.path, why: outcome.message }, 'an old boot image stays');
    return outcome.kind === 'done';
  });
  return removed ?? false;
}
