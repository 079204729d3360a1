import { truncateSync } from 'node:fs';
import type { ServerDisk } from '../hardware.ts';
import type { MachineContext } from './machine-context.ts';

/** Erases every byte of a disk, and records it in the ledger. */
export function eraseServerDisk({ number, onWrite }: MachineContext, disk: ServerDisk, by: string): void {
  onWrite({ serverNumber: number, serial: disk.serial, offset: 0, length: disk.sizeBytes, by });
  truncateSync(disk.path, 0);
  truncateSync(disk.path, disk.sizeBytes);
}
