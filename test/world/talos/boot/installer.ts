import { request } from 'undici';
import type { MachineDescription } from '../../machine-runner/machine.ts';
import { parseYaml } from '../config/config-view.ts';
import { fieldsAt, listAt, textAt } from '../config/fields.ts';
import type { TalosNode } from '../node.ts';
import type { BootPartition } from './disk-partitions.ts';
import { diskFileBytes, eraseTalosDisk, minimumDiskBytes, writePartition } from './disk-partitions.ts';

/** The parts of `factory.example:8080/nocloud-installer/<schematic>:v1.13.9`. */
export interface InstallerImage {
  readonly host: string;
  readonly platform: string;
  readonly schematic: string;
  readonly version: string;
}

/** A pulled installer: the additions of its schematic. */
export interface PulledInstaller extends InstallerImage {
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** Throws a sentence when the reference is not an installer of an image factory. */
export function parseInstaller(reference: string): InstallerImage {
  const match = /^([^/]+)\/(?:([a-z]+)-)?installer(?:-secureboot)?\/([0-9a-f]{64}):v?(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(
    reference,
  );
  if (!match) throw new Error(`failed to pull image "${reference}": not found`);
  const [, host = '', platform, schematic = '', version = ''] = match;
  return { host, platform: platform ?? 'metal', schematic, version };
}

/**
 * "Pulls" an installer: requests its manifest and its schematic from the factory. The simulated factory is given by
 * address and uses plain HTTP; names are not resolved.
 */
export async function pullInstaller(node: TalosNode, reference: string): Promise<PulledInstaller> {
  const image = parseInstaller(reference);
  const failed = (reason: string): Error => new Error(`failed to pull image "${reference}": ${reason}`);
  if (!/^(?:\d+(?:\.\d+){3}|localhost)(?::\d+)?$/.test(image.host)) {
    throw failed(`dial tcp: lookup ${image.host}: no such host`);
  }
  const ask = async (path: string) => {
    const signal = AbortSignal.any([node.signal, AbortSignal.timeout(10_000)]);
    try {
      const answer = await request(`http://${image.host}${path}`, { method: 'GET', signal });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (error) {
      throw failed(error instanceof Error ? error.message : String(error));
    }
  };
  const manifest = `/v2/${image.platform}-installer/${image.schematic}/manifests/v${image.version}`;
  const { status } = await ask(manifest);
  if (status !== 200) throw failed(`unexpected status from HEAD request: ${status}`);
  const schematic = await ask(`/schematics/${image.schematic}`);
  const customization = schematic.status === 200 ? fieldsAt(parseYaml(schematic.text), 'customization') : {};
  return {
    ...image,
    extensions: listAt(customization, 'systemExtensions.officialExtensions').map(String),
    kernelArguments: listAt(customization, 'extraKernelArgs').map(String),
  };
}

/** The disk that the configuration names, by path or by selector. Throws the installer's error when there is none. */
export function findInstallDisk(node: TalosNode): MachineDescription['disks'][number] {
  const install = node.config?.view.install;
  const disks = [...node.machine.disks].sort((a, b) => a.order - b.order);
  if (!install || (install.disk === '' && Object.keys(install.diskSelector).length === 0)) {
    throw new Error('failed to install: no install disk is configured');
  }
  const found = install.disk
    ? disks.find((disk) => devicePaths(disk, disks).includes(install.disk))
    : disks.find((disk) => diskMatchesSelector(disk, install.diskSelector));
  if (!found) {
    const wanted = install.disk || 'install.diskSelector';
    throw new Error(`failed to install: stat ${wanted}: no such file or directory`);
  }
  if (diskFileBytes(found.path) < minimumDiskBytes)
    throw new Error(`failed to install: disk ${defaultDeviceName(found, disks)} is too small`);
  return found;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** Kernel name: `vda` for virtio, `sda` for SATA, `nvme0n1`; counted by bus. */
export function deviceName(disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string {
  if (disk.kernelName !== undefined) return disk.kernelName;
  const index = [...disks]
    .sort((a, b) => a.order - b.order)
    .filter((one) => one.bus === disk.bus)
    .indexOf(disk);
  if (disk.bus === 'nvme') return `nvme${index}n1`;
  return `${disk.bus === 'virtio' ? 'vd' : 'sd'}${letters[index] ?? 'z'}`;
}

const defaultDeviceName = (disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string =>
  `/dev/${deviceName(disk, disks)}`;

function devicePaths(disk: MachineDescription['disks'][number], disks: MachineDescription['disks']): string[] {
  return [defaultDeviceName(disk, disks), ...byIdNames(disk).map((name) => `/dev/disk/by-id/${name}`)];
}

/** The names of udev's rules for a whole disk: by model and serial, and by the drive's WWN or EUI. */
function byIdNames({ bus, serial, model, wwn }: MachineDescription['disks'][number]): string[] {
  const prefix = { virtio: 'virtio-', sata: 'ata-', nvme: 'nvme-' }[bus];
  const usual = { virtio: '', sata: 'QEMU_HARDDISK_', nvme: 'QEMU_NVMe_Ctrl_' }[bus];
  const named = `${prefix}${model === undefined ? usual : `${model.trim().replaceAll(/\s+/g, '_')}_`}${serial}`;
  const worldwide = wwn ? [bus === 'nvme' ? `nvme-${wwn}` : `wwn-${wwn}`] : [];
  return [named, ...(bus === 'nvme' ? [`${named}_1`] : []), ...worldwide];
}

/** `install.diskSelector`: serial, type and size; the first match is used. */
export function diskMatchesSelector(
  disk: MachineDescription['disks'][number],
  selector: Readonly<Record<string, unknown>>,
): boolean {
  const serial = textAt(selector, 'serial');
  if (serial !== '' && !glob(serial, disk.serial)) return false;
  const model = textAt(selector, 'model');
  if (model !== '' && !glob(model, disk.model ?? '')) return false;
  const wwid = textAt(selector, 'wwid');
  if (wwid !== '' && !glob(wwid, wwidOf(disk))) return false;
  const type = textAt(selector, 'type');
  if (type === 'nvme' && disk.bus !== 'nvme') return false;
  if (type === 'hdd' && disk.rotational === false) return false;
  const size = textAt(selector, 'size');
  return size === '' || sizeMatches(disk.sizeBytes, size);
}

/** As in `Disks`: NVMe drives by their EUI, others by their NAA. */
export const wwidOf = ({ wwn }: MachineDescription['disks'][number]): string => wwn?.replace(/^0x/, 'naa.') ?? '';

const glob = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  ).test(text);

function sizeMatches(bytes: number, rule: string): boolean {
  const match = /^\s*(<=|>=|<|>|==)?\s*([\d.]+)\s*([KMGT]?)(i?)B?\s*$/i.exec(rule);
  if (!match) return false;
  const [, operator = '==', amount = '0', unit = '', binary = ''] = match;
  const base = binary ? 1024 : 1000;
  const wanted = Number(amount) * base ** ['', 'K', 'M', 'G', 'T'].indexOf(unit.toUpperCase());
  const compare: Record<string, boolean> = {
    '<=': bytes <= wanted,
    '>=': bytes >= wanted,
    '<': bytes < wanted,
    '>': bytes > wanted,
    '==': bytes === wanted,
  };
  return compare[operator] ?? false;
}

/** Writes the boot loader. */
export function writeBootPartition(node: TalosNode, path: string, image: PulledInstaller): void {
  const boot: BootPartition = {
    platform: image.platform,
    arch: node.image.arch,
    version: image.version,
    schematic: image.schematic,
    kernelArguments: installedArguments(node, image),
    extensions: image.extensions,
    firmware: node.machine.firmware,
  };
  writePartition(path, 'BOOT', boot);
}

/**
 * The command line is part of the installed image: the installer defines its platform, the schematic its extra
 * arguments.
 */
function installedArguments(node: TalosNode, image: PulledInstaller): string[] {
  const kept = node.image.kernelArguments.filter((one) => !/^talos\.(?:platform|halt_if_installed)=/.test(one));
  const added = image.kernelArguments.filter((one) => !one.startsWith('-') && !kept.includes(one));
  return [`talos.platform=${image.platform}`, ...kept, ...added];
}

/** A fresh partition table with META. STATE follows with the configuration. */
export function createPartitionTable(path: string): void {
  eraseTalosDisk(path);
  writePartition(path, 'META', { tags: {} });
}
