import type { BootableSystem, DiskContent } from '../disks/bootable-system.ts';
import { fillDisk, findBootableSystem } from '../disks/bootable-system.ts';
import type { ServerDisk, ServerHardware } from '../hardware.ts';
import type { ForeignLinuxOptions, RescueOptions, RunningRescue } from '../rescue/start-rescue.ts';
import { startForeignLinux, startRescueOverSsh } from '../rescue/start-rescue.ts';

/** Everything that can run on a server or lie on its disks, but Talos. The machine only knows when it begins and ends. */
export interface ServerSoftware {
  startRescue(options: RescueOptions): Promise<RunningRescue>;
  startForeignLinux(options: ForeignLinuxOptions): Promise<RunningRescue>;
  fill(disk: ServerDisk, content: DiskContent): void;
  bootable(disk: ServerDisk, firmware: ServerHardware['firmware']['kind']): BootableSystem | undefined;
}

/** What the room runs, unless a test has something quicker. */
export const defaultSoftware: ServerSoftware = {
  startRescue: startRescueOverSsh,
  startForeignLinux,
  fill: fillDisk,
  bootable: findBootableSystem,
};
