import { truncateSync } from 'node:fs';
import type { Disk } from '../hardware.ts';
import type { Box } from './box.ts';

/** Every byte of a disk is gone, and the ledger says so. */
export function eraseDisk({ number, onWrite }: Box, disk: Disk, by: string): void {
  onWrite({ serverNumber: number, serial: disk.serial, offset: 0, length: disk.sizeBytes, by });
  truncateSync(disk.path, 0);
  truncateSync(disk.path, disk.sizeBytes);
}
