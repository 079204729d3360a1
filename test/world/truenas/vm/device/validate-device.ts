import { randomBytes } from 'node:crypto';
import { ArgumentErrors, CallError, errnos, PythonException } from '../../middleware/errors.ts';
import type { NasDevice, NasState, NasVm } from '../../nas-state.ts';
import { existsOnNas, fileModeOf, filesystemOf, zvolName } from '../../storage/dataset-files.ts';
import { devicesOf, randomMac, vmNameOf } from '../vm-runtime.ts';
import { validateDisplay } from './display-ports.ts';

/** The user QEMU runs as on TrueNAS: uid and gid 986. */
const libvirtUser = { name: 'libvirt-qemu', id: 986 };

/** Validates the attributes of a device after the schema check. */
export async function validateDevice(
  nas: NasState,
  vm: NasVm,
  device: NasDevice,
  old: NasDevice | undefined,
): Promise<void> {
  const rejections = new ArgumentErrors();
  const { dtype } = device.attributes;
  if (nas.version.keepsDeviceType && old && old.attributes['dtype'] !== dtype) {
    rejections.add('attributes.dtype', 'Device type cannot be changed');
  }
  if (dtype === 'CDROM') checkCdrom(rejections, nas, vm, device);
  else if (dtype === 'DISK') checkDisk(rejections, nas, device);
  else if (dtype === 'NIC') checkNic(rejections, nas, vm, device);
  else if (dtype === 'DISPLAY') validateDisplay(rejections, nas, vm, device);
  if (dtype === 'DISK') checkStorage(rejections, nas, vm, device, old);
  rejections.check();
}

const devicePathOf = (device: NasDevice): string => String(device.attributes['path']);

function isUsedByOtherDevice(nas: NasState, vm: NasVm, device: NasDevice): boolean {
  return devicesOf(nas, vm).some(
    (one) =>
      one.id !== device.id &&
      ['DISK', 'CDROM'].includes(String(one.attributes['dtype'])) &&
      devicePathOf(one) === devicePathOf(device),
  );
}

function checkPoolPath(rejections: ArgumentErrors, nas: NasState, path: string): void {
  const pools = [...nas.pools.keys()];
  if (!path.startsWith('/mnt/') || !pools.some((pool) => `${path}/`.startsWith(`/mnt/${pool}/`))) {
    rejections.add('attributes.path', 'The path must reside within a pool mount point');
  }
}

function checkCdrom(rejections: ArgumentErrors, nas: NasState, vm: NasVm, device: NasDevice): void {
  const path = devicePathOf(device);
  checkPoolPath(rejections, nas, path);
  if (isUsedByOtherDevice(nas, vm, device)) {
    rejections.add('attributes.path', `${vmNameOf(vm)} has "${path}" already configured`);
  }
  if (rejections.any) return;
  if (!existsOnNas(nas, path)) throw missingFile(nas, path);
  const dataset = filesystemOf(nas, path);
  if (nas.version.cdromNeedsChildDataset && dataset && !dataset.id.includes('/')) {
    rejections.add('attributes.path', 'The path must be a dataset or a directory within a dataset.');
    return;
  }
  checkReadable(rejections, nas, path);
}

/**
 * Since 25.10.1 the filesystem is checked first; before that the file itself, with Python's error for a missing file.
 */
const missingFile = ({ version }: NasState, path: string): Error =>
  version.cdromNeedsChildDataset
    ? new CallError('Path not found.', errnos.ENOENT)
    : new PythonException('FileNotFoundError', `[Errno 2] No such file or directory: '${path}'`);

/** QEMU must be able to read the file: by its mode, or because libvirt may take ownership of it. */
function checkReadable(rejections: ArgumentErrors, nas: NasState, path: string): void {
  const file = fileModeOf(nas, path, false);
  const closed = foldersAbove(path).find((folder) => !mayEnter(nas, folder));
  if (closed === undefined && (file.mode & 0o004) !== 0 && file.uid !== libvirtUser.id) return;
  if (closed !== undefined) {
    const message =
      `Filesystem permissions on path ${closed} prevent access for user "${libvirtUser.name}" to the path ${path}. ` +
      `This may be fixed by granting the aforementioned user execute permissions on the path: ${closed}.`;
    rejections.add('attributes.path', message);
  }
  // As owner it would read by the owner's bits.
  if (closed !== undefined || (file.mode & 0o400) === 0) {
    const message = `'${libvirtUser.name}' user cannot read from '${path}' path. Please ensure correct permissions are specified.`;
    rejections.add('attributes.path', message);
  }
}

function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

function mayEnter(nas: NasState, folder: string): boolean {
  const { mode, uid, gid } = fileModeOf(nas, folder, true);
  if (uid === libvirtUser.id) return (mode & 0o100) !== 0;
  return (mode & (gid === libvirtUser.id ? 0o010 : 0o001)) !== 0;
}

function checkDisk(rejections: ArgumentErrors, nas: NasState, device: NasDevice): void {
  const path = devicePathOf(device);
  if (!path.startsWith('/dev/zvol/')) {
    rejections.add('attributes.path', 'Disk path must start with "/dev/zvol/"');
    return;
  }
  const dataset = nas.datasets.get(zvolName(path));
  if (!dataset) rejections.add('attributes.path', 'Zvol referenced by path does not exist', errnos.ENOENT);
  else if (dataset.type !== 'VOLUME') {
    rejections.add('attributes.path', 'Path specified does not reference to a VOLUME');
  }
}

function checkStorage(
  rejections: ArgumentErrors,
  nas: NasState,
  vm: NasVm,
  device: NasDevice,
  old: NasDevice | undefined,
): void {
  const { attributes } = device;
  if (isUsedByOtherDevice(nas, vm, device)) {
    rejections.add('attributes.path', `${vmNameOf(vm)} has "${devicePathOf(device)}" already configured`);
  }
  // The server generates the serial of a new device and ignores the requested one.
  if (!old) attributes['serial'] = newSerial();
  else if (!attributes['serial']) attributes['serial'] = old.attributes['serial'];
  else if (attributes['serial'] !== old.attributes['serial']) {
    rejections.add('attributes.serial', 'This field is read-only.');
  }
}

function newSerial(): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  return Array.from(randomBytes(8), (byte) => alphabet[byte % alphabet.length]).join('');
}

function checkNic(rejections: ArgumentErrors, nas: NasState, vm: NasVm, device: NasDevice): void {
  const { attributes } = device;
  const attach = attributes['nic_attach'] as string | null;
  if (attach && !nas.links.has(attach)) rejections.add('attributes.nic_attach', 'Not a valid choice.');
  const mac = attributes['mac'] as string | null;
  if (mac?.toLowerCase().startsWith('ff')) rejections.add('attributes.mac', 'MAC address must not start with `ff`');
  if (!nas.version.storesMac) return;
  if (mac === null) attributes['mac'] = randomMac();
  const others = devicesOf(nas, vm).filter((one) => one.id !== device.id);
  if (others.some((one) => one.attributes['mac'] === attributes['mac'])) {
    rejections.add('attributes.mac', 'MAC address is already in use by another NIC of this VM');
  }
}
