import { ProviderError } from '../../../lib/errors.ts';
import { type BootOrderResult, changeBootOrder } from './boot-order.ts';
import type { DiskName } from './disk-name.ts';
import { type Identity, identityScript, parseIdentity } from './identity.ts';
import { type Inventory, inventoryScript, parseInventory } from './inventory.ts';
import { type ImageSource, type Job, parseJob, wipeCommand, writeCommand } from './job.ts';
import { toScript } from './quote.ts';
import { environment } from './scripts/common.ts';
import { type Command, oneLine, type Session } from './session.ts';

export { type Identity, whyNotRescue } from './identity.ts';

/**
 * What is done inside a rescue system. Every call can throw RESCUE_UNREACHABLE or RESCUE_COMMAND_FAILED.
 *
 * Wiping and writing are jobs: they go on without us, and the same call again only tells how far they are. A job whose processes
 * have all died is started again, three times at most.
 */
export class Rescue {
  /** `SHA256:…` */
  readonly hostKey: string;
  readonly #session: Session;

  constructor(session: Session, hostKey: string) {
    this.#session = session;
    this.hostKey = hostKey;
  }

  /** Who answers. To be judged by `whyNotRescue` before anything else is done. */
  async identify(): Promise<Identity> {
    return parseIdentity(await this.#session.ask({ name: 'identify', line: toScript(identityScript) }));
  }

  /** What is in the server. Reads only; waits up to 30 s for what drives call themselves. */
  async inspect(): Promise<Inventory> {
    const command = { name: 'inspect', line: toScript(inventoryScript), seconds: 120 };
    return parseInventory(await this.#session.ask(command));
  }

  /**
   * Erases these disks, after arrays and volume groups were taken apart that lie on them alone. Facts: `bytes` (zeros that were
   * written) and `disks`.
   */
  async wipe(operation: string, disks: readonly DiskName[]): Promise<Job> {
    return await this.#job(wipeCommand(operation, disks));
  }

  /**
   * Writes an image to a disk and compares all of it with what the drive then reads. Facts: `bytes`, `compressedSha256`, and
   * `checkedBy`: `checksum`, or `structure` where there was none.
   */
  async write(operation: string, disk: DiskName, image: ImageSource): Promise<Job> {
    return await this.#job(writeCommand(operation, disk, image));
  }

  /** Network first, and no entries of systems that are gone: the rules are with `decideBootOrder`. */
  async bootOrder(): Promise<BootOrderResult> {
    return await changeBootOrder(this.#session);
  }

  async reboot(): Promise<void> {
    await this.#leave('reboot');
  }

  async powerOff(): Promise<void> {
    await this.#leave('poweroff');
  }

  close(): void {
    this.#session.close();
  }

  async #job(command: Command): Promise<Job> {
    return parseJob(await this.#session.ask(command));
  }

  /** A system that goes down says nothing any more: an end without a status is what is hoped for. */
  async #leave(how: 'reboot' | 'poweroff'): Promise<void> {
    const { status, stderr } = await this.#session.run({
      name: how,
      line: toScript(`${environment}sync; exec ${how}`),
    });
    if (status === undefined || status === 0) return;
    throw new ProviderError('RESCUE_COMMAND_FAILED', `${how}: status ${status}: ${oneLine(stderr)}`);
  }
}
