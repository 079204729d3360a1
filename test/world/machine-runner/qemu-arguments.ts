import { dirname, join } from 'node:path';
import type { MachineDocument } from './machine-document.ts';

/** The host-specific options of a machine. */
export interface QemuHost {
  readonly accelerator: 'kvm' | 'tcg';
  /** The firmware's program for UEFI machines. */
  readonly ovmfCode: string | undefined;
  /** Whether NICs are attached to their bridges or their cables are unplugged. */
  readonly plugged: boolean;
}

/** The variables of a UEFI machine's firmware, e.g. its boot entries: kept between two starts, as by libvirt. */
export const variablesPath = ({ serialLog, uuid }: MachineDocument): string =>
  join(dirname(serialLog), `${uuid}_VARS.fd`);

/** The network device that QEMU creates for a NIC, and removes at its end. Linux allows 15 characters. */
export const tapName = (mac: string): string => `vm${mac.toLowerCase().replaceAll(/[:-]/g, '')}`;

/** The number of ports of a q35 machine's built-in AHCI controller. */
const sataPorts = 6;

/**
 * The command line of QEMU for a machine: only the devices of the document, with the options of libvirt on TrueNAS.
 * Disks are virtio, CD-ROMs SATA, NICs virtio; only disks and CD-ROMs boot. It starts paused, with its monitor (QMP) on
 * standard input and output. Throws a RangeError for options that QEMU does not support.
 */
export function toQemuArguments(machine: MachineDocument, host: QemuHost): string[] {
  if (machine.cdroms.length > sataPorts) {
    throw new RangeError(
      `a machine has at most ${sataPorts} CD-ROMs, and ${machine.name} has ${machine.cdroms.length}`,
    );
  }
  if (machine.firmware === 'uefi' && host.ovmfCode === undefined) throw new RangeError('UEFI needs OVMF');
  return [
    ...['-name', escapeCommas(machine.name), '-uuid', machine.uuid],
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-vga', 'none'],
    ...['-machine', machine.firmware === 'uefi' ? 'q35,pflash0=firmware,pflash1=variables' : 'q35'],
    ...['-accel', host.accelerator, ...cpu(machine.cpuModel)],
    ...['-smp', `${machine.vcpus}`, '-m', `${machine.memoryMiB}M`],
    ...(machine.firmware === 'uefi' ? flash(host.ovmfCode ?? '', variablesPath(machine)) : []),
    ...['-chardev', `file,id=serial,append=on,path=${escapeCommas(machine.serialLog)}`, '-serial', 'chardev:serial'],
    ...machine.disks.flatMap(disk),
    ...machine.cdroms.flatMap(cdrom),
    ...machine.nics.flatMap(({ mac }, index) => nic(mac, index, host.plugged)),
    ...['-boot', 'strict=on', '-S', '-qmp', 'stdio'],
  ];
}

/** In QEMU's older option syntax a literal comma is doubled. */
const escapeCommas = (text: string): string => text.replaceAll(',', ',,');

/** `max` is every feature of the accelerator: with KVM the host's own processor. */
export const cpu = (model: string | null): string[] =>
  model === null ? [] : ['-cpu', model === 'host' ? 'max' : model];

function flash(code: string, variables: string): string[] {
  return [
    ...blockdev({ 'node-name': 'firmware', 'read-only': true, file: { driver: 'file', filename: code } }),
    ...blockdev({ 'node-name': 'variables', file: { driver: 'file', filename: variables } }),
  ];
}

function disk({ path, serial, order }: MachineDocument['disks'][number], index: number): string[] {
  const node = `disk${index}`;
  return [
    ...blockdev({ 'node-name': node, discard: 'unmap', file: { driver: 'file', filename: path, discard: 'unmap' } }),
    ...device({ driver: 'virtio-blk-pci', drive: node, serial, bootindex: order }),
  ];
}

function cdrom({ path, order }: MachineDocument['cdroms'][number], index: number): string[] {
  const node = `cdrom${index}`;
  return [
    ...blockdev({ 'node-name': node, 'read-only': true, file: { driver: 'file', filename: path } }),
    ...device({ driver: 'ide-cd', bus: `ide.${index}`, drive: node, bootindex: order }),
  ];
}

function nic(mac: string, index: number, plugged: boolean): string[] {
  const id = `nic${index}`;
  const cable = ['-netdev', `tap,id=${id},ifname=${tapName(mac)},script=no,downscript=no`];
  return [
    ...(plugged ? cable : []),
    ...device({ driver: 'virtio-net-pci', mac, romfile: '', ...(plugged ? { netdev: id } : {}) }),
  ];
}

const blockdev = (options: object): string[] => ['-blockdev', JSON.stringify({ driver: 'raw', ...options })];
const device = (options: object): string[] => ['-device', JSON.stringify(options)];
