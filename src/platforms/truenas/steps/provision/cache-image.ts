import { done, type Step, type StepOutcome, wait } from '../../../../engine/step.ts';
import type { FileStat } from '../../api/schema.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import { TrueNasError } from '../../error-codes.ts';
import { dataDisksOf, filesystemsOnOtherPools } from '../../resources/disk/data-disks.ts';
import {
  type BackgroundTransfers,
  backgroundTransfersOf,
  type TransferProgress,
} from '../../resources/image/background-transfers.ts';
import {
  type CachedImage,
  cachedImageOf,
  fileVersionOf,
  findCachedImage,
  type StoredImage,
  toImageFacts,
} from '../../resources/image/cached-image.ts';
import { type HashedFiles, hashedFilesOf, hashImage } from '../../resources/image/hashed-files.ts';
import { transferImage } from '../../resources/image/transfer-image.ts';
import { findFile, machineScopeOf, type TrueNasStepContext } from '../../resources/machine-scope.ts';
import { maxReturns } from '../shared/go-back.ts';

/**
 * Before: the schematic is known. After: its boot image is on the system, complete and unchanged. Done when its hash,
 * read back once by this process and again after each write to the file, is the one on its dataset. All machines share
 * one copy; the others wait.
 */
export const imageCached: Step<TrueNasStepContext> = {
  name: 'image-cached',
  deadlineMinutes: 45,
  async run(context) {
    const image = cachedImageOf(context);
    const transfers = backgroundTransfersOf(context, machineScopeOf(context).nas);
    const running = transfers.progress(image.dataset);
    if (running) return wait(2, describeProgress(running));
    const [found] = await Promise.all([inspectImage(context, image), prefetchDatasets(context)]);
    if (!found) {
      transfers.start(image.dataset, (signal, progress) => transferImage(context, image, signal, progress));
      return wait(1, describeProgress({}));
    }
    const { file } = found;
    switch (found.is) {
      case 'right':
        return done({ image: image.path, ...toImageFacts(fileVersionOf(file)) });
      case 'unread':
        transfers.start(image.dataset, (signal, progress) => hashImage(context, image, file, signal, progress));
        return wait(1, describeProgress({ read: 0 }));
      default:
        return refetchImage(context, image, transfers);
    }
  },
};

/** Reads the datasets that later steps need, in parallel with this step's own reads. */
async function prefetchDatasets(context: TrueNasStepContext): Promise<void> {
  const { nas, identity, signal } = machineScopeOf(context);
  const disks = dataDisksOf(context);
  const folders = [identity.dataset, ...filesystemsOnOtherPools(disks, identity.dataset)];
  const { datasets } = SystemInformer.of(nas);
  const ids = [...folders, identity.zvol, ...disks.map(({ zvol }) => zvol)];
  await Promise.all(ids.map((id) => datasets.get(id, {}, signal)));
}

interface InspectedImage {
  readonly is: 'right' | 'wrong' | 'unread';
  readonly file: FileStat;
}

/** An image that this process has verified is identified by its file version; its record is not needed then. */
async function inspectImage(context: TrueNasStepContext, image: CachedImage): Promise<InspectedImage | undefined> {
  const read = hashedFilesOf(context);
  if (read.isProven(image.path)) {
    const file = await findFile(machineScopeOf(context), image.path);
    if (file && read.isProven(image.path, file)) return { is: 'right', file };
  }
  const found = await findCachedImage(context, image);
  return found && { is: verifyImage(read, image, found), file: found.file };
}

function verifyImage(read: HashedFiles, { path }: CachedImage, { record, file }: StoredImage): InspectedImage['is'] {
  if (file.type !== 'FILE' || file.size !== record.bytes) return 'wrong';
  const sha256 = read.hashOf(path, file);
  if (sha256 === undefined) return 'unread';
  if (sha256 !== record.sha256) return 'wrong';
  read.verify(path);
  return 'right';
}

/**
 * The image is overwritten and not deleted, because machines that have it attached go on running. After several changes
 * a user has to find the cause.
 */
function refetchImage(context: TrueNasStepContext, image: CachedImage, transfers: BackgroundTransfers): StepOutcome {
  const { path, dataset } = image;
  const returns = Number(context.facts['returns'] ?? 0);
  if (returns >= maxReturns) throw new TrueNasError('TRUENAS_IMAGE_CHANGED', `It is ${path}. Dataset: ${dataset}.`);
  context.log.warn({ image: path, returns: returns + 1 }, 'a boot image was changed and is downloaded again');
  transfers.start(dataset, (signal, progress) => transferImage(context, image, signal, progress));
  return wait(1, `The boot image ${path} was changed; it is downloaded again.`, { returns: returns + 1 });
}

/** Progress of the write comes from the job. It takes a moment, or long on a busy system. */
const describeProgress = ({ percent, written, read, removing }: TransferProgress): string => {
  if (removing) return 'The boot image was unused and is being removed; it is downloaded again afterwards.';
  if (read !== undefined) return `The boot image on the TrueNAS system is being verified: ${read} %.`;
  if (written !== undefined) return `The boot image is being written by the TrueNAS system: ${Math.floor(written)} %.`;
  const part = percent === undefined ? '' : `: ${percent} %`;
  return `The boot image is being copied from the image factory to the TrueNAS system${part}.`;
};
