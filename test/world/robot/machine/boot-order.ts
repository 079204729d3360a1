import type { BootableSystem } from '../disks/bootable-system.ts';
import type { FirmwareBootEntry, ServerDisk } from '../hardware.ts';
import type { BootActivation } from '../state.ts';
import type { MachineContext } from './machine-context.ts';

/** The result of the firmware's search. */
export type BootTarget =
  | { readonly kind: 'network'; readonly activation: BootActivation }
  | { readonly kind: 'disk'; readonly disk: ServerDisk; readonly system: BootableSystem }
  | { readonly kind: 'nothing' };

/**
 * The firmware's search along its boot order. A network entry boots the armed configuration, or fails after a timeout;
 * a disk entry starts the loader of its disk. After the last entry, some boards search every disk for a loader.
 */
export async function selectBootTarget(
  box: MachineContext,
  sleep: (seconds: number) => Promise<void>,
): Promise<BootTarget> {
  const { firmware, disks } = box.hardware;
  for (const id of firmware.order) {
    const entry = firmware.entries.find((one) => one.id === id);
    if (!entry?.active) continue;
    const found = entry.target.kind === 'network' ? await tryNetwork(box, entry, sleep) : tryDisk(box, entry);
    if (found) return found;
  }
  if (!firmware.findsLoaders) return { kind: 'nothing' };
  for (const disk of disks) {
    const system = box.software.bootable(disk, firmware.kind);
    if (system) return { kind: 'disk', disk, system };
  }
  return { kind: 'nothing' };
}

async function tryNetwork(
  box: MachineContext,
  { target }: FirmwareBootEntry,
  sleep: (seconds: number) => Promise<void>,
): Promise<BootTarget | undefined> {
  const nic = box.hardware.nics.find(({ name }) => target.kind === 'network' && name === target.nic);
  await sleep(box.delays.networkSeconds);
  // Other NICs are not connected to the provider's network.
  if (!nic || nic.speedMbps === 0 || nic !== box.hardware.nics[0]) return undefined;
  const activation = box.takeArmed();
  return activation && { kind: 'network', activation };
}

/** An entry without a loader is skipped. */
function tryDisk({ hardware, software }: MachineContext, { target }: FirmwareBootEntry): BootTarget | undefined {
  const disk = hardware.disks.find(({ serial }) => target.kind === 'disk' && serial === target.serial);
  const system = disk && software.bootable(disk, hardware.firmware.kind);
  return disk && system && { kind: 'disk', disk, system };
}
