import { ProviderError } from '../../../lib/errors.ts';
import { type BootOrderResult, changeBootOrder } from './boot-order.ts';
import type { DiskIdentifiers } from './disk-identifiers.ts';
import { identityScript, parseRescueIdentity, type RescueIdentity } from './identity.ts';
import { type ImageSource, parseRescueJob, type RescueJob, wipeCommand, writeCommand } from './job.ts';
import { shellEnvironment } from './scripts/common.ts';
import { inventoryScript, parseServerInventory, type ServerInventory } from './server-inventory.ts';
import { toShellScript } from './shell-quote.ts';
import { type SshCommand, type SshSession, toSingleLine } from './ssh-session.ts';

export { type RescueIdentity, rescueMismatch } from './identity.ts';

/**
 * What is done inside a rescue system. Every call can throw RESCUE_UNREACHABLE or RESCUE_COMMAND_FAILED.
 *
 * Wiping and writing are jobs: they go on without us, and the same call again only tells how far they are. A job whose processes
 * have all died is started again, three times at most.
 */
export class RescueClient {
  /** `SHA256:…` */
  readonly hostKey: string;
  readonly #session: SshSession;

  constructor(session: SshSession, hostKey: string) {
    this.#session = session;
    this.hostKey = hostKey;
  }

  /** Who answers. To be judged by `whyNotRescue` before anything else is done. */
  async identify(): Promise<RescueIdentity> {
    return parseRescueIdentity(await this.#session.ask({ name: 'identify', line: toShellScript(identityScript) }));
  }

  /** What is in the server. Reads only; waits up to 30 s for what drives call themselves. */
  async inspect(): Promise<ServerInventory> {
    const command = { name: 'inspect', line: toShellScript(inventoryScript), seconds: 120 };
    return parseServerInventory(await this.#session.ask(command));
  }

  /**
   * Erases these disks, after arrays and volume groups were taken apart that lie on them alone. Facts: `bytes` (zeros that were
   * written) and `disks`.
   */
  async wipe(operation: string, disks: readonly DiskIdentifiers[]): Promise<RescueJob> {
    return await this.#job(wipeCommand(operation, disks));
  }

  /**
   * Writes an image to a disk and compares all of it with what the drive then reads. Facts: `bytes`, `compressedSha256`, and
   * `checkedBy`: `checksum`, or `structure` where there was none.
   */
  async write(operation: string, disk: DiskIdentifiers, image: ImageSource): Promise<RescueJob> {
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

  async #job(command: SshCommand): Promise<RescueJob> {
    return parseRescueJob(await this.#session.ask(command));
  }

  /** A system that goes down says nothing any more: an end without a status is what is hoped for. */
  async #leave(how: 'reboot' | 'poweroff'): Promise<void> {
    const { status, stderr } = await this.#session.run({
      name: how,
      line: toShellScript(`${shellEnvironment}sync; exec ${how}`),
    });
    if (status === undefined || status === 0) return;
    throw new ProviderError('RESCUE_COMMAND_FAILED', `${how}: status ${status}: ${toSingleLine(stderr)}`);
  }
}
