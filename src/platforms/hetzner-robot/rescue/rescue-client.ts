import { HetznerRobotError } from '../error-codes.ts';
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
 * Operations in a rescue system. Every call can throw RESCUE_UNREACHABLE or RESCUE_COMMAND_FAILED.
 *
 * Wipes and writes are jobs: they run detached, and the same call again only reports the progress. A job whose
 * processes have all died is started again, three times at most.
 */
export class RescueClient {
  /** `SHA256:…` */
  readonly hostKey: string;
  readonly #session: SshSession;

  constructor(session: SshSession, hostKey: string) {
    this.#session = session;
    this.hostKey = hostKey;
  }

  /** The identity of the system. Check it with `rescueMismatch` before anything else. */
  async identify(): Promise<RescueIdentity> {
    return parseRescueIdentity(await this.#session.ask({ name: 'identify', line: toShellScript(identityScript) }));
  }

  /** Inspects the hardware of the server. Reads only; waits up to 30 s for the names of drives. */
  async inspect(): Promise<ServerInventory> {
    const command = { name: 'inspect', line: toShellScript(inventoryScript), seconds: 120 };
    return parseServerInventory(await this.#session.ask(command));
  }

  /**
   * Erases these disks, after arrays and volume groups that lie on them alone were dissolved. Facts: `bytes` (zeros
   * that were written) and `disks`.
   */
  async wipe(operation: string, disks: readonly DiskIdentifiers[]): Promise<RescueJob> {
    return await this.#job(wipeCommand(operation, disks));
  }

  /**
   * Writes an image to a disk and compares all of it with what the drive then returns. Facts: `bytes`,
   * `compressedSha256`, and `checkedBy`: `checksum`, or `structure` where there was none.
   */
  async write(operation: string, disk: DiskIdentifiers, image: ImageSource): Promise<RescueJob> {
    return await this.#job(writeCommand(operation, disk, image));
  }

  /** Puts network entries first and removes entries of former systems, by the rules of `decideBootOrder`. */
  async bootOrder(): Promise<BootOrderResult> {
    return await changeBootOrder(this.#session);
  }

  /**
   * The system goes down during the command, so a channel that closes without an exit status is the expected result.
   */
  async reboot(): Promise<void> {
    const line = toShellScript(`${shellEnvironment}sync; exec reboot`);
    const { status, stderr } = await this.#session.run({ name: 'reboot', line });
    if (status === undefined || status === 0) return;
    throw new HetznerRobotError('RESCUE_COMMAND_FAILED', `reboot: status ${status}: ${toSingleLine(stderr)}`);
  }

  close(): void {
    this.#session.close();
  }

  async #job(command: SshCommand): Promise<RescueJob> {
    return parseRescueJob(await this.#session.ask(command));
  }
}
