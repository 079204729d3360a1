import { createHash } from 'node:crypto';
import type { Facts, Owner } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import { hash8 } from '../../lib/hash.ts';
import { downloadImage, ensureSchematic, isoUrl, schematicId } from '../../talos/image-factory.ts';
import { type ImageRecord, noRecord, parseRecord, recordProperties } from './identity.ts';
import type { FileStat } from './schema.ts';
import {
  type Context,
  ensureDataset,
  findFile,
  findOwnDataset,
  type System,
  setProperties,
  systemOf,
} from './system.ts';
import type { TransferProgress } from './transfers.ts';
import { upload } from './upload.ts';

/** A boot image on the system: one dataset for each, because TrueNAS has no call that deletes a single file. */
export interface CachedImage {
  readonly dataset: string;
  readonly path: string;
  /** Folder of all images of this ProviderConfig's prefix. */
  readonly folder: string;
  /** Images belong to the provider instance, not to a machine. */
  readonly owner: Owner;
}

const fileName = 'nocloud-amd64.iso';
const transferSeconds = 1800;

/** The image that a node boots from; its name follows from what is in it and from whose it is. */
export function imageOf({ config, node, owner }: Pick<Context, 'config' | 'node' | 'owner'>): CachedImage {
  const { version, schematic, factoryUrl } = node.talos;
  const { installation, provider } = owner;
  const id = `${version}_${hash8(installation, provider, factoryUrl, schematicId(schematic), version)}`;
  const parent = `${config.pool}/${config.datasetPrefix}/images`;
  const dataset = `${parent}/${id}`;
  return {
    dataset,
    path: `/mnt/${dataset}/${fileName}`,
    folder: `/mnt/${parent}`,
    // A slash, so that no Machine has this name.
    owner: { installation, provider, machine: `images/${id}` },
  };
}

/**
 * The record of an image that is completely there and as it was put there; undefined when it is yet to be copied, or was
 * removed. Throws TRUENAS_IMAGE_CHANGED when something else lies in its place: who put it there is for people to find out.
 */
export async function findImage(context: Context, image: CachedImage): Promise<ImageRecord | undefined> {
  const system = systemOf(context);
  const dataset = await findOwnDataset(system, image.dataset, image.owner);
  const record = dataset && parseRecord(dataset);
  if (!record) return undefined;
  const file = await findFile(system, image.path);
  if (!file) return undefined;
  checkImage(image, record, file);
  return record;
}

/** How a file is told from another: its size in bytes, and its date in seconds since 1970. */
type Print = Pick<ImageRecord, 'bytes' | 'modified'>;

/** What the step that looked for the image wrote down of it. */
export function notedImage({ imageBytes: bytes, imageModified: modified }: Facts): Print | undefined {
  return typeof bytes === 'number' && typeof modified === 'number' ? { bytes, modified } : undefined;
}

/** Whether the file is the one that was noted. */
export const isAsNoted = ({ bytes, modified }: Print, file: FileStat | undefined): boolean =>
  file?.type === 'FILE' && file.size === bytes && Math.abs(file.mtime - modified) < 0.001;

/** Throws TRUENAS_IMAGE_CHANGED unless the file is the one that was noted. */
export function checkImage({ path, dataset }: CachedImage, record: Print, file: FileStat | undefined): void {
  if (isAsNoted(record, file)) return;
  const now = file ? `${file.size} bytes, changed at ${new Date(file.mtime * 1000).toISOString()}` : 'nothing';
  throw new ProviderError(
    'TRUENAS_IMAGE_CHANGED',
    `${path}: ${record.bytes} bytes were put there, now there is ${now}. Dataset: ${dataset}.`,
  );
}

/**
 * Copies the image from the factory to the system, through our hands but not onto our disk, and notes its size and hash
 * when it has arrived. Until that note exists, nobody boots from it, and it may be written again.
 */
export async function transferImage(
  context: Context,
  image: CachedImage,
  signal: AbortSignal,
  progress: TransferProgress,
): Promise<void> {
  const system = { ...systemOf(context), signal };
  const { version, schematic, factoryUrl } = context.node.talos;
  const dataset = await ensureDataset(
    system,
    image.dataset,
    { type: 'FILESYSTEM', create_ancestors: true },
    image.owner,
  );
  // Of a file that was removed. A part of the new one would look like something that somebody put there.
  if (parseRecord(dataset)) await setProperties(system, image.dataset, noRecord);
  const id = await ensureSchematic(factoryUrl, schematic, { signal, log: context.log });
  const url = isoUrl({ factoryUrl, platform: 'nocloud', schematicId: id, version });
  const download = new AbortController();
  const onAbort = () => download.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const { bytes, body } = await downloadImage(url, { signal: download.signal });
    if (bytes === undefined) throw new ProviderError('FACTORY_FAILED', 'It does not say how long the boot image is.');
    const hash = createHash('sha256');
    let sent = 0;
    const content = eachPiece(body, (piece) => {
      hash.update(piece);
      sent += piece.length;
      progress.percent = Math.floor((sent / bytes) * 100);
    });
    await upload(system.nas, context, {
      path: image.path,
      mode: 0o644,
      bytes,
      content,
      signal,
      seconds: transferSeconds,
      onWriting: (percent) => {
        progress.written = percent;
      },
    });
    await noteImage(system, image, { bytes, sha256: hash.digest('hex') });
    context.log.info({ image: image.path, bytes }, 'boot image cached');
  } finally {
    signal.removeEventListener('abort', onAbort);
    // What was not read to its end would keep its connection.
    download.abort();
  }
}

async function* eachPiece(
  body: AsyncIterable<Uint8Array>,
  see: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    see(piece);
    yield piece;
  }
}

/** Notes what arrived. A file that is not complete gets no note, and so is never booted from. */
async function noteImage(
  system: System,
  { path, dataset }: CachedImage,
  sent: Omit<ImageRecord, 'modified'>,
): Promise<void> {
  const found = await findFile(system, path);
  if (!found || found.size !== sent.bytes) {
    throw new ProviderError('TRUENAS_UPLOAD_FAILED', `${path}: ${found?.size ?? 0} of ${sent.bytes} bytes arrived.`);
  }
  await setProperties(system, dataset, recordProperties({ ...sent, modified: found.mtime }));
}
