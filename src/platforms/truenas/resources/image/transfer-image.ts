import { createHash } from 'node:crypto';
import {
  checkImageSize,
  downloadImage,
  ensureSchematic,
  findChecksum,
  isoUrl,
} from '../../../../talos/image-factory/client.ts';
import { upload } from '../../api/upload.ts';
import { TrueNasError } from '../../error-codes.ts';
import { type ImageRecord, imageRecordProperties, imageRecordRemoval, parseImageRecord } from '../identity.ts';
import {
  ensureDataset,
  findFile,
  findOwnDataset,
  type MachineScope,
  machineScopeOf,
  setUserProperties,
  type TrueNasStepContext,
} from '../machine-scope.ts';
import type { TransferProgress } from './background-transfers.ts';
import type { CachedImage } from './cached-image.ts';

const transferTimeoutSeconds = 1800;

/**
 * Streams the image from the factory to the system, without a local copy, and records its size and hash when it has
 * arrived. Without this record the image is not booted from, and may be written again.
 */
export async function transferImage(
  context: TrueNasStepContext,
  image: CachedImage,
  signal: AbortSignal,
  progress: TransferProgress,
): Promise<void> {
  const system = { ...machineScopeOf(context), signal };
  const { version, schematic, factoryUrl } = context.node.talos;
  const more = { type: 'FILESYSTEM', create_ancestors: true };
  // A record that is not known of would outlive the file that it describes.
  await findOwnDataset(system, image.dataset, image.owner);
  const dataset = await ensureDataset(system, image.dataset, more, image.owner);
  // The record of a former file has to be removed before the first byte of the new one is written.
  if (parseImageRecord(dataset)) await setUserProperties(system, image.dataset, imageRecordRemoval);
  const id = await ensureSchematic(factoryUrl, schematic, { signal, log: context.log });
  const url = isoUrl({ factoryUrl, platform: 'nocloud', schematicId: id, version });
  const arrived = await copyImage(context, system, { url, path: image.path, progress });
  const checksum = await findChecksum(url, { signal });
  if (checksum !== undefined && checksum !== arrived.sha256) {
    throw new TrueNasError(
      'FACTORY_CHECKSUM_DIFFERS',
      `The announced checksum is ${checksum}, that of the download is ${arrived.sha256}: ${url}.`,
    );
  }
  await recordImage(system, image, arrived);
  context.log.info({ image: image.path, bytes: arrived.bytes, checksum }, 'boot image cached');
}

interface ImageCopy {
  readonly url: string;
  readonly path: string;
  readonly progress: TransferProgress;
}

async function copyImage(
  context: TrueNasStepContext,
  system: MachineScope,
  { url, path, progress }: ImageCopy,
): Promise<ImageRecord> {
  const { signal } = system;
  const reading = new AbortController();
  const onAbort = () => reading.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const { bytes, body } = await downloadImage(url, { signal: reading.signal });
    if (bytes === undefined) throw new TrueNasError('FACTORY_FAILED', 'The response has no length of the boot image.');
    checkImageSize(bytes);
    const hash = createHash('sha256');
    let sent = 0;
    const content = tapChunks(body, (chunk) => {
      hash.update(chunk);
      sent += chunk.length;
      progress.percent = Math.floor((sent / bytes) * 100);
    });
    const onWriting = (percent: number) => {
      progress.written = percent;
    };
    const file = { path, mode: 0o644, bytes, content, signal, seconds: transferTimeoutSeconds, onWriting };
    await upload(system.nas, context, file);
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    signal.removeEventListener('abort', onAbort);
    // An unread body would keep its connection open.
    reading.abort();
  }
}

async function* tapChunks(
  body: AsyncIterable<Uint8Array>,
  see: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    see(chunk);
    yield chunk;
  }
}

/** Records the image. An incomplete file gets no record, and so is never booted from. */
async function recordImage(system: MachineScope, { path, dataset }: CachedImage, sent: ImageRecord): Promise<void> {
  const found = await findFile(system, path);
  if (!found || found.size !== sent.bytes) {
    throw new TrueNasError('TRUENAS_UPLOAD_FAILED', `${path}: ${found?.size ?? 0} of ${sent.bytes} bytes arrived.`);
  }
  await setUserProperties(system, dataset, imageRecordProperties(sent));
}
