import type { BootableSystem, DiskContent } from '../disks/bootable-system.ts';
import { fillDisk, findBootableSystem } from '../disks/bootable-system.ts';
import type { ServerDisk, ServerHardware } from '../hardware.ts';
import type { ForeignLinuxOptions, RescueOptions, RunningRescue } from '../rescue/start-rescue.ts';
import { startForeignLinux, startRescueOverSsh } from '../rescue/start-rescue.ts';

/** Every system on a server or its disks except Talos. The machine only knows its start and end. */
export interface ServerSoftware {
  startRescue(options: RescueOptions): Promise<RunningRescue>;
  startForeignLinux(options: ForeignLinuxOptions): Promise<RunningRescue>;
  fill(disk: ServerDisk, content: DiskContent): void;
  bootable(disk: ServerDisk, firmware: ServerHardware['firmware']['kind']): BootableSystem | undefined;
}

/** The default implementation; a test may use a faster one. */
export const defaultSoftware: ServerSoftware = {
  startRescue: startRescueOverSsh,
  startForeignLinux,
  fill: fillDisk,
  bootable: findBootableSystem,
};
