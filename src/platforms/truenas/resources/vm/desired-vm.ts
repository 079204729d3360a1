import type { NodeSpec, Owner } from '../../../../engine/node.ts';
import type { VmDevice } from '../../api/schema.ts';
import type { VmSize } from '../../config/config.ts';
import { toVmCpuRequest } from '../../config/cpu.ts';
import { displayAttributes } from '../../config/display.ts';
import { pathOfZvol } from '../disk/data-disks.ts';
import { toVmDescription, type VmIdentity } from '../identity.ts';

/**
 * The arguments of `vm.create`. Several defaults are unsuitable: the CPU model is below what Talos boots on, the clock
 * is local time, and from TrueNAS 26 on a periodic snapshot would pause the machine and its etcd.
 */
export function toVmCreateRequest(
  identity: VmIdentity,
  owner: Owner,
  node: NodeSpec,
  size: VmSize,
): Record<string, unknown> {
  return {
    name: identity.vmName,
    description: toVmDescription(owner, node),
    uuid: identity.uuid,
    ...toVmCpuRequest(size),
    memory: size.memoryMiB,
    bootloader: 'UEFI',
    time: 'UTC',
    autostart: true,
    suspend_on_snapshot: false,
    ensure_display_device: false,
    ...(size.tpm === true ? { trusted_platform_module: true } : {}),
    shutdown_timeout: 90,
  };
}

/** A device that the machine should have. */
export interface DesiredDevice {
  /** Name for users. */
  readonly description: string;
  readonly order: number;
  readonly attributes: Readonly<Record<string, string | boolean>> & { readonly dtype: string };
  /** Sent at creation and never compared, because TrueNAS does not show it to every user. */
  readonly secret?: Readonly<Record<string, string>>;
  /** True for the device that is this one, perhaps with other settings. */
  matches(device: VmDevice): boolean;
}

export interface DesiredDeviceInput {
  readonly zvol: string;
  /** In the order in which the kernel should number them after the boot disk. */
  readonly dataZvols: readonly string[];
  /** Folder of all cached images, and the image to boot. */
  readonly images: string;
  readonly image: string;
  /** Folder of the machine's seeds, and the seed to read. */
  readonly seeds: string;
  readonly seed: string;
  readonly mac: string;
  readonly bridge: string;
  /** Network cards beside the first. */
  readonly cards: readonly { readonly mac: string; readonly bridge: string }[];
  /** Password of the display, if there is one. */
  readonly display?: { readonly password: string } | undefined;
}

/**
 * Firmware boots by `order`, from disks and CD-ROMs only. The disk comes first: an empty disk is skipped, and an
 * installed one must come before the image, which halts when it finds Talos on a disk. The kernel names VirtIO disks in
 * this order, too: the first is `vda`, which Talos is installed to.
 */
export function toDesiredDevices(paths: DesiredDeviceInput): readonly DesiredDevice[] {
  const cdrom = (what: string, order: number, path: string, folder: string): DesiredDevice => ({
    description: what,
    order,
    attributes: { dtype: 'CDROM', path },
    matches: ({ attributes }) => attributes.dtype === 'CDROM' && attributes.path?.startsWith(`${folder}/`) === true,
  });
  const disk = (what: string, order: number, path: string): DesiredDevice => ({
    description: what,
    order,
    attributes: { dtype: 'DISK', path, type: 'VIRTIO' },
    matches: ({ attributes }) => attributes.dtype === 'DISK' && attributes.path === path,
  });
  const card = (what: string, order: number, { mac, bridge }: { mac: string; bridge: string }): DesiredDevice => ({
    description: what,
    order,
    attributes: { dtype: 'NIC', type: 'VIRTIO', mac, nic_attach: bridge },
    matches: ({ attributes }) => attributes.dtype === 'NIC' && attributes.mac?.toLowerCase() === mac,
  });
  return [
    disk('the boot disk', 1000, pathOfZvol(paths.zvol)),
    ...paths.dataZvols.map((zvol, i) => disk(`the disk ${zvol}`, 1001 + i, pathOfZvol(zvol))),
    cdrom('the boot image', 1500, paths.image, paths.images),
    cdrom('the seed', 1501, paths.seed, paths.seeds),
    card('the network card', 2001, paths),
    ...paths.cards.map((one, index) => card(`network card ${index + 2}`, 2002 + index, one)),
    ...(paths.display ? [displayDevice(paths.display)] : []),
  ];
}

const displayDevice = (secret: { readonly password: string }): DesiredDevice => ({
  description: 'the display',
  order: 3001,
  attributes: displayAttributes,
  secret,
  matches: ({ attributes }) => attributes.dtype === 'DISPLAY' && attributes.type === displayAttributes.type,
});

/** Names of the settings of `device` that differ from the desired ones; empty when all match. */
export function differingSettings(device: VmDevice, wanted: DesiredDevice): readonly string[] {
  const attributes: Readonly<Record<string, unknown>> = device.attributes;
  const wrong = Object.entries(wanted.attributes)
    .filter(([name, value]) => normalize(attributes[name]) !== normalize(value))
    .map(([name]) => name);
  return device.order === wanted.order ? wrong : [...wrong, 'order'];
}

const normalize = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value);

/** The path that firmware tries first. TrueNAS reports the assigned order of devices without one. */
export function firstBootPath(devices: readonly VmDevice[]): string | undefined {
  const bootable = devices.filter(({ attributes }) => ['DISK', 'RAW', 'CDROM'].includes(attributes.dtype));
  const [first] = [...bootable].sort((a, b) => (a.order ?? 0) - (b.order ?? 0) || a.id - b.id);
  return first?.attributes.path ?? undefined;
}
