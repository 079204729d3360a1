import type { TalosNode } from '../node.ts';
import { publishMeta } from '../state/publish-system.ts';
import { type BootPartition, type InstalledSystem, readPartition, writePartition } from './disk-partitions.ts';

/** META keys (talos: pkg/machinery/meta/constants.go). */
export const metaKeys = { upgradeFallback: '0x06', stagedImage: '0x07', stagedOptions: '0x08' } as const;

/**
 * Writes a system into the other of the two slots of the boot loader and makes it the default. The earlier one is noted
 * in META until the new one runs (talos: cmd/installer/pkg/install/install.go).
 */
export function writeOtherSlot(node: TalosNode, system: InstalledSystem): void {
  const { disk, boot } = bootOf(node);
  const { previous: _replaced, firmware, ...current } = boot;
  writePartition(disk, 'BOOT', { ...system, firmware, previous: current });
  setMetaTag(node, metaKeys.upgradeFallback, `Talos-v${current.version}.efi`);
}

/** Makes the other system the default again. Throws the error of the boot loader when there is none. */
export function switchSlots(node: TalosNode): void {
  const { disk, boot } = bootOf(node);
  const { previous, firmware, ...current } = boot;
  if (!previous) throw new Error('previous UKI not found');
  node.log(`reverting to previous UKI: Talos-v${previous.version}.efi`);
  writePartition(disk, 'BOOT', { ...previous, firmware, previous: current });
}

/** Talos after a fatal error: an upgrade that is not confirmed yet is reverted (talos: internal/app/machined/revert.go). */
export function revertUpgrade(node: TalosNode): void {
  if (metaTag(node, metaKeys.upgradeFallback) === undefined) return;
  switchSlots(node);
  setMetaTag(node, metaKeys.upgradeFallback, undefined);
}

function bootOf(node: TalosNode): { disk: string; boot: BootPartition } {
  const disk = node.systemDisk;
  const boot = disk ? readPartition(disk, 'BOOT') : undefined;
  if (!disk || !boot) throw new Error('system disk not found');
  return { disk, boot };
}

export function metaTag(node: TalosNode, key: string): string | undefined {
  const disk = node.systemDisk;
  return disk ? readPartition(disk, 'META')?.tags[key] : undefined;
}

/** Sets a key of META, or removes it. */
export function setMetaTag(node: TalosNode, key: string, value: string | undefined): void {
  const disk = node.systemDisk;
  if (!disk) return;
  const { [key]: _old, ...others } = readPartition(disk, 'META')?.tags ?? {};
  writePartition(disk, 'META', { tags: value === undefined ? others : { ...others, [key]: value } });
  publishMeta(node);
}
