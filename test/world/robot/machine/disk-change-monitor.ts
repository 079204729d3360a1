import { existsSync, statSync } from 'node:fs';
import type { MachineContext, RunningSystem } from './machine-context.ts';

/**
 * Talos writes to its disks without the ledger. The modification time of the file shows a write. The ledger then gets
 * one write of the disk's whole length, because the offset is unknown.
 */
export class DiskChangeMonitor {
  readonly #box: MachineContext;
  readonly #seen = new Map<string, number>();
  #isOn = false;

  constructor(box: MachineContext) {
    this.#box = box;
  }

  /** From the start of a system to its end. */
  during(occupant: RunningSystem): RunningSystem {
    for (const { serial, path } of this.#box.hardware.disks) this.#seen.set(serial, changedAt(path));
    this.#isOn = true;
    const close = async (): Promise<void> => {
      await occupant.close();
      this.look();
      this.#isOn = false;
    };
    return { ...occupant, close };
  }

  look(): void {
    if (!this.#isOn) return;
    const { number: serverNumber, hardware, onWrite } = this.#box;
    for (const { serial, path, sizeBytes: length } of hardware.disks) {
      const at = changedAt(path);
      if (at === this.#seen.get(serial)) continue;
      this.#seen.set(serial, at);
      onWrite({ serverNumber, serial, offset: 0, length, by: 'talos' });
    }
  }
}

const changedAt = (path: string): number => (existsSync(path) ? statSync(path).mtimeMs : 0);
