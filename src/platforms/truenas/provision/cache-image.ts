import { done, type Outcome, type Step, wait } from '../../../engine/platform.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { dataDisksOf, foldersElsewhere } from '../data-disks.ts';
import { type CachedImage, type FoundImage, factsOf, findImage, imageOf, printOf } from '../image.ts';
import { type ReadFiles, readFilesOf, readImage } from '../image-proof.ts';
import { transferImage } from '../image-transfer.ts';
import type { FileStat } from '../schema.ts';
import { type Context, findDataset, findFile, systemOf } from '../system.ts';
import { type TransferProgress, type Transfers, transfersOf } from '../transfers.ts';
import { mostReturns } from './go-back.ts';

/**
 * Before: the schematic is known. After: its boot image lies on the system, complete and as it was put there. Done when the
 * hash of what lies there, read back once by this process and as long as nobody writes to it, is the one on its dataset. One
 * copy for all machines; the rest waits.
 */
export const imageCached: Step<Context> = {
  name: 'image-cached',
  deadlineMinutes: 45,
  async run(context) {
    const image = imageOf(context);
    const transfers = transfersOf(context, systemOf(context).nas);
    const running = transfers.progress(image.dataset);
    if (running) return wait(2, telling(running));
    const [found] = await Promise.all([lookAt(context, image), lookAhead(context)]);
    if (!found) {
      transfers.start(image.dataset, (signal, progress) => transferImage(context, image, signal, progress));
      return wait(1, telling({}));
    }
    const { file } = found;
    switch (found.is) {
      case 'right':
        context.handover?.noteFile(image.path, file);
        return done({ image: image.path, ...factsOf(printOf(file)) });
      case 'unread':
        transfers.start(image.dataset, (signal, progress) => readImage(context, image, file, signal, progress));
        return wait(1, telling({ read: 0 }));
      default:
        return fetchAnew(context, image, transfers);
    }
  },
};

/** What the next steps want to know of what the machine has on the pools, asked together with what this one asks. */
async function lookAhead(context: Context): Promise<void> {
  const { handover, identity, ...at } = systemOf(context);
  const disks = dataDisksOf(context);
  const folders = [identity.dataset, ...foldersElsewhere(disks, identity.dataset)];
  const ids = [...folders, identity.zvol, ...disks.map(({ zvol }) => zvol)].filter((id) => !handover?.dataset(id));
  await Promise.all(ids.map(async (id) => handover?.noteDataset(id, await findDataset(at, id))));
}

interface Seen {
  readonly is: 'right' | 'wrong' | 'unread';
  readonly file: FileStat;
}

/** An image that this process has proven is known by its print; what was noted of it when it arrived says nothing more then. */
async function lookAt(context: Context, image: CachedImage): Promise<Seen | undefined> {
  const read = readFilesOf(context);
  if (read.isProven(image.path)) {
    const file = await findFile(systemOf(context), image.path);
    if (file && read.isProven(image.path, file)) return { is: 'right', file };
  }
  const found = await findImage(context, image);
  return found && { is: judge(read, image, found), file: found.file };
}

function judge(read: ReadFiles, { path }: CachedImage, { record, file }: FoundImage): Seen['is'] {
  if (file.type !== 'FILE' || file.size !== record.bytes) return 'wrong';
  const sha256 = read.hashOf(path, file);
  if (sha256 === undefined) return 'unread';
  if (sha256 !== record.sha256) return 'wrong';
  read.prove(path);
  return 'right';
}

/** Machines that have the file attached run on: it is written anew and not deleted. Who changes it again is for people to find. */
function fetchAnew(context: Context, image: CachedImage, transfers: Transfers): Outcome {
  const { path, dataset } = image;
  const returns = Number(context.facts['returns'] ?? 0);
  if (returns >= mostReturns) throw new ProviderError('TRUENAS_IMAGE_CHANGED', `It is ${path}. Dataset: ${dataset}.`);
  context.log.warn({ image: path, returns: returns + 1 }, 'a boot image is not what was put there and is fetched anew');
  transfers.start(dataset, (signal, progress) => transferImage(context, image, signal, progress));
  return wait(1, `The boot image ${path} is not what was put there; it is fetched anew.`, { returns: returns + 1 });
}

/** The second part tells by the job itself; it takes a moment, or long on a system that has much to do. */
const telling = ({ percent, written, read, removing }: TransferProgress): string => {
  if (removing) return 'The boot image was needed by nobody and is being removed; it is fetched anew after that.';
  if (read !== undefined) return `The boot image is read back from the TrueNAS system, to compare its hash: ${read} %.`;
  if (written !== undefined) return `The boot image is being written by the TrueNAS system: ${Math.floor(written)} %.`;
  const part = percent === undefined ? '' : `: ${percent} %`;
  return `The boot image is being copied from the image factory to the TrueNAS system${part}.`;
};
