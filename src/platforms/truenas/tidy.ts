import { z } from 'zod';
import type { Facts } from '../../engine/platform.ts';
import type { Needed, TidyContext } from '../../engine/tidy.ts';
import { connect, type TrueNas } from './client.ts';
import type { TrueNasConfig } from './config.ts';
import { destroy } from './destroy.ts';
import { isOwnDataset, noteUnused, noteUsed, unusedSince } from './identity.ts';
import { type CachedImage, imageCalled, imageIdOf, imagesBelow } from './image.ts';
import { Dataset, Vm } from './schema.ts';
import { findDataset, setProperties } from './system.ts';
import { tidyKeepsakes } from './tidy-keepsakes.ts';
import { transfersOf } from './transfers.ts';

type Context = TidyContext<TrueNasConfig>;

interface Found {
  readonly image: CachedImage;
  readonly id: string;
  readonly dataset: Dataset;
}

/** So long nobody may have needed an image before it goes. */
const unusedHours = 24;

/**
 * Removes cached boot images that nobody needs: no virtual machine of the system has it attached, whoever it belongs to, no
 * ProviderConfig and no Machine names it, and so it has been for a day. Each proof is made anew right before the image goes:
 * TrueNAS stops the machines that use a dataset that is deleted.
 */
export async function tidy(context: Context): Promise<readonly string[]> {
  const nas = connect(context);
  return [...(await tidyImages(context, nas)), ...(await tidyKeepsakes(context, nas))];
}

async function tidyImages(context: Context, nas: TrueNas): Promise<readonly string[]> {
  const found = await findImages(context, nas);
  if (found.length === 0) return [];
  const vms = await nas.read('vm.query', [], z.array(Vm), { signal: context.signal });
  const paths = vms.flatMap(({ devices }) => devices.flatMap(({ attributes: { path } }) => path ?? []));
  const isAttached = ({ dataset }: Found) => paths.some((path) => liesIn(path, `/mnt/${dataset.id}`));
  // Who is needed has to be asked for at the platform cluster, so it is only asked when it matters.
  const needed = found.every(isAttached) ? undefined : await context.needed();
  const removed: string[] = [];
  for (const one of found) {
    if (isAttached(one) || (needed && isNeeded(context, one, needed))) await keep(context, nas, one);
    else if (needed && (await isDue(context, nas, one)) && (await remove(context, nas, one))) {
      removed.push(`The boot image ${one.image.path} on ${nas.host} was needed by nobody for a day and is removed.`);
    }
  }
  return removed;
}

/** Those of this ProviderConfig's cache that carry our mark and are called what it says. */
async function findImages({ config, ours, signal }: Context, nas: TrueNas): Promise<Found[]> {
  const parent = imagesBelow(config);
  const below = [[['id', '^', `${parent}/`]], { extra: { retrieve_children: false } }];
  const datasets = await nas.read('pool.dataset.query', below, z.array(Dataset), { signal });
  return datasets.flatMap((dataset) => {
    const id = dataset.id.slice(parent.length + 1);
    const image = imageCalled(id, config, ours);
    return !id.includes('/') && !dataset.locked && isOwnDataset(dataset, image.owner) ? [{ image, id, dataset }] : [];
  });
}

function isNeeded({ ours }: Context, { id, dataset }: Found, { talos, facts }: Needed): boolean {
  const named = ({ image }: Facts) => typeof image === 'string' && liesIn(image, `/mnt/${dataset.id}`);
  return talos.some((one) => imageIdOf(one, ours) === id) || facts.some(named);
}

const liesIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

async function keep({ signal }: Context, nas: TrueNas, { dataset }: Found): Promise<void> {
  if (unusedSince(dataset)) await setProperties({ nas, signal }, dataset.id, noteUsed);
}

/** Whether it has been unused for long enough; the first time that is written down. */
async function isDue({ clock, signal }: Context, nas: TrueNas, { dataset }: Found): Promise<boolean> {
  const since = unusedSince(dataset);
  const now = clock.now();
  // A date to come was written by a clock that went wrong.
  if (since && since <= now) return now.getTime() - since.getTime() >= unusedHours * 3_600_000;
  await setProperties({ nas, signal }, dataset.id, noteUnused(now));
  return false;
}

/** A machine that wants the image meanwhile waits until it is gone, and has it fetched anew. */
async function remove(context: Context, nas: TrueNas, found: Found): Promise<boolean> {
  const { image, dataset } = found;
  const { signal, log } = context;
  const removed = await transfersOf(context, nas).instead(dataset.id, { removing: true }, async () => {
    const needed = await context.needed();
    if (!needed || isNeeded(context, found, needed)) return false;
    const before = await findDataset({ nas, signal }, dataset.id);
    // Whoever took the note off, say another process of ours, knew somebody who needs it.
    if (!before || !unusedSince(before)) return false;
    const outcome = await destroy({ nas, signal, owner: image.owner }, [
      { id: dataset.id, path: `/mnt/${dataset.id}` },
    ]);
    if (outcome.kind === 'fail') log.info({ image: image.path, why: outcome.message }, 'an old boot image stays');
    return outcome.kind === 'done';
  });
  return removed ?? false;
}
