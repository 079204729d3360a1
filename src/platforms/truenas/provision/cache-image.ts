import { done, type Step, wait } from '../../../engine/platform.ts';
import type { TrueNas } from '../client.ts';
import { findImage, imageOf, transferImage } from '../image.ts';
import { type Context, systemOf } from '../system.ts';
import { type TransferProgress, Transfers } from '../transfers.ts';

/**
 * Before: the schematic is known. After: its boot image lies on the system, complete. Done when the note of its size is on
 * its dataset and the file is as noted. One copy for all machines; the rest waits.
 */
export const imageCached: Step<Context> = {
  name: 'image-cached',
  deadlineMinutes: 45,
  async run(context) {
    const image = imageOf(context);
    const { nas } = systemOf(context);
    const transfers = transfersOf(context, nas);
    const running = transfers.progress(image.dataset);
    if (running) return wait(2, copying(running));
    const record = await findImage(context, image);
    if (record) return done({ image: image.path, imageBytes: record.bytes, imageModified: record.modified });
    transfers.start(image.dataset, (signal, progress) => transferImage(context, image, signal, progress));
    return wait(1, copying({}));
  },
};

/** The second part tells by the job itself; it takes a moment, or long on a system that has much to do. */
const copying = ({ percent, written }: TransferProgress): string => {
  if (written !== undefined) return `The boot image is being written by the TrueNAS system: ${Math.floor(written)} %.`;
  const part = percent === undefined ? '' : `: ${percent} %`;
  return `The boot image is being copied from the image factory to the TrueNAS system${part}.`;
};

function transfersOf(context: Context, nas: TrueNas): Transfers {
  return context.connections.get(
    `truenas-transfers:${nas.options.endpoint.socketUrl}`,
    () => new Transfers(context.clock, context.connections.signal),
  );
}
