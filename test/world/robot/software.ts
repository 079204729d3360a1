import type { Bootable, DiskContent } from './disks/index.ts';
import { bootable, fill } from './disks/index.ts';
import type { Disk, Hardware } from './hardware.ts';
import type { ForeignLinuxOptions, RescueOptions, RunningRescue } from './rescue/index.ts';
import { startForeignLinux, startRescue } from './rescue/index.ts';

/** Everything that can run on a server or lie on its disks, but Talos. The machine only knows when it begins and ends. */
export interface Software {
  startRescue(options: RescueOptions): Promise<RunningRescue>;
  startForeignLinux(options: ForeignLinuxOptions): Promise<RunningRescue>;
  fill(disk: Disk, content: DiskContent): void;
  bootable(disk: Disk, firmware: Hardware['firmware']['kind']): Bootable | undefined;
}

/** What the room runs, unless a test has something quicker. */
export const realSoftware: Software = { startRescue, startForeignLinux, fill, bootable };
