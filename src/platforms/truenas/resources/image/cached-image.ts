import type { NodeSpec, Owner } from '../../../../engine/node.ts';
import type { Facts } from '../../../../engine/step.ts';
import { hashNames } from '../../../../lib/hash.ts';
import { computeSchematicId } from '../../../../talos/image-factory/client.ts';
import type { FileStat } from '../../api/schema.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { TrueNasError } from '../../error-codes.ts';
import { type ImageRecord, parseImageRecord } from '../identity.ts';
import { findFile, findOwnDataset, machineScopeOf, type TrueNasStepContext } from '../machine-scope.ts';

/** A boot image on the system. Each has its own dataset, because TrueNAS has no call that deletes a single file. */
export interface CachedImage {
  readonly dataset: string;
  readonly path: string;
  /** Folder of all images below the prefix of this ProviderConfig. */
  readonly folder: string;
  /** The owner of an image is the provider instance, not a machine. */
  readonly owner: Owner;
}

const fileName = 'nocloud-amd64.iso';

type ImageOwner = Omit<Owner, 'machine'>;

/** The name of an image follows from its content and its owner. */
export function imageIdOf(
  { version, schematic, factoryUrl }: NodeSpec['talos'],
  { installation, provider }: ImageOwner,
): string {
  return `${version}_${hashNames(installation, provider, factoryUrl, computeSchematicId(schematic), version)}`;
}

/** Parent dataset of all images of a ProviderConfig. */
export const imagesDatasetOf = ({ pool, datasetPrefix }: Pick<TrueNasConfig, 'pool' | 'datasetPrefix'>): string =>
  `${pool}/${datasetPrefix}/images`;

/** The boot image of a node. */
export const cachedImageOf = ({
  config,
  node,
  owner,
}: Pick<TrueNasStepContext, 'config' | 'node' | 'owner'>): CachedImage =>
  cachedImageById(imageIdOf(node.talos, owner), config, owner);

/** The image with this name. */
export function cachedImageById(
  id: string,
  config: Pick<TrueNasConfig, 'pool' | 'datasetPrefix'>,
  { installation, provider }: ImageOwner,
): CachedImage {
  const parent = imagesDatasetOf(config);
  const dataset = `${parent}/${id}`;
  return {
    dataset,
    path: `/mnt/${dataset}/${fileName}`,
    folder: `/mnt/${parent}`,
    // A slash, so that no Machine can have this name.
    owner: { installation, provider, machine: `images/${id}` },
  };
}

/** The record of a transferred image, and the current file. */
export interface StoredImage {
  readonly record: ImageRecord;
  readonly file: FileStat;
}

/**
 * A transferred image; undefined when it has to be transferred, or was removed. The content of the file is not checked.
 */
export async function findCachedImage(
  context: TrueNasStepContext,
  image: CachedImage,
): Promise<StoredImage | undefined> {
  const system = machineScopeOf(context);
  const dataset = await findOwnDataset(system, image.dataset, image.owner);
  const record = dataset && parseImageRecord(dataset);
  const file = record && (await findFile(system, image.path));
  return file && { record, file };
}

/** Distinguishes a file from its predecessor without reading it. */
export interface FileVersion {
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly modified: number;
  /** Unlike mtime, it cannot be set. */
  readonly changed?: number;
}

export const fileVersionOf = ({ size, mtime, ctime }: FileStat): FileVersion => ({
  ...{ bytes: size, modified: mtime },
  ...(typeof ctime === 'number' ? { changed: ctime } : {}),
});

/** The facts of the step that verified the image. */
export const toImageFacts = ({ bytes, modified, changed }: FileVersion): Facts => ({
  ...{ imageBytes: bytes, imageModified: modified },
  ...(changed === undefined ? {} : { imageChanged: changed }),
});
export function parseImageFacts({
  imageBytes: bytes,
  imageModified: modified,
  imageChanged,
}: Facts): FileVersion | undefined {
  if (typeof bytes !== 'number' || typeof modified !== 'number') return undefined;
  return { bytes, modified, ...(typeof imageChanged === 'number' ? { changed: imageChanged } : {}) };
}

/** True when the file is the recorded one. */
export function isSameFileVersion(noted: FileVersion, file: FileStat | undefined): boolean {
  if (file?.type !== 'FILE') return false;
  const now = fileVersionOf(file);
  const sameTime = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined || Math.abs(a - b) < 0.001;
  return now.bytes === noted.bytes && sameTime(now.modified, noted.modified) && sameTime(now.changed, noted.changed);
}

/** Throws TRUENAS_IMAGE_CHANGED unless the file is the recorded one. */
export function assertImageUnchanged(
  { path, dataset }: CachedImage,
  noted: FileVersion,
  file: FileStat | undefined,
): void {
  if (isSameFileVersion(noted, file)) return;
  const now = file ? `${file.size} bytes, changed at ${new Date(file.mtime * 1000).toISOString()}` : 'nothing';
  throw new TrueNasError(
    'TRUENAS_IMAGE_CHANGED',
    `${path}: recorded ${noted.bytes} bytes, found ${now}. Dataset: ${dataset}.`,
  );
}
