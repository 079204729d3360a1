import { readSignatures } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from './block-device.ts';
import type { BlockStorage } from './block-storage.ts';

/** Links below `/dev`, by path, each with the name of its device, as udev's rules create them. */
export function deviceLinks(storage: BlockStorage): Map<string, string> {
  const links = new Map<string, string>();
  const devices = storage.devices();
  for (const device of devices) {
    for (const path of linksOf(device, storage)) if (!links.has(path)) links.set(path, device.name);
  }
  return links;
}

function linksOf(device: BlockDevice, storage: BlockStorage): string[] {
  const byId = byIdNames(device, storage).map((name) => `disk/by-id/${name}`);
  const [signature] = readSignatures(device.read, device.size);
  const isShared = signature?.usage === 'raid';
  return [
    ...byId,
    ...(signature?.uuid && !isShared ? [`disk/by-uuid/${signature.uuid}`] : []),
    ...(signature?.label && !isShared ? [`disk/by-label/${encode(signature.label)}`] : []),
    ...(device.partition ? [`disk/by-partuuid/${device.partition.uuid}`] : []),
    ...(device.partition?.name ? [`disk/by-partlabel/${encode(device.partition.name)}`] : []),
    ...pathNames(device).map((name) => `disk/by-path/${name}`),
    ...(device.volume ? [`mapper/${dmName(device)}`, `${device.volume.group}/${device.volume.name}`] : []),
    ...(device.type === 'raid1' ? [`md/${arrayNameOf(device, storage)}`] : []),
  ];
}

/** Names of a whole disk in `/dev/disk/by-id`; for a partition the same with `-partN`. */
export function byIdNames(device: BlockDevice, storage: BlockStorage): string[] {
  if (device.type === 'part') {
    const [disk] = device.parents;
    return disk ? byIdNames(disk, storage).map((name) => `${name}-part${device.partition?.number}`) : [];
  }
  if (device.type === 'raid1') {
    const array = storage.arrays.find(({ name }) => name === device.name);
    return array ? [`md-name-${array.title}`, `md-uuid-${formatMdUuid(array.uuid)}`] : [];
  }
  const { access, volume } = device;
  if (volume) return [`dm-name-${dmName(device)}`];
  if (!access) return [];
  const { model, serial, wwn, bus } = access.disk;
  const name = `${encode(model.trim())}_${encode(serial)}`;
  if (bus === 'nvme') return [`nvme-${name}`, `nvme-${name}_1`, ...(wwn ? [`nvme-${wwn}`] : [])];
  return [`ata-${name}`, ...(wwn ? [`wwn-${wwn}`] : [])];
}

/** Four groups of eight, as mdadm writes them. */
export const formatMdUuid = (uuid: string): string => uuid.replaceAll('-', '').replace(/(.{8})(?=.)/g, '$1:');

/** Device-mapper doubles the dashes of both names. */
export const dmName = ({ volume }: BlockDevice): string =>
  volume ? `${volume.group.replaceAll('-', '--')}-${volume.name.replaceAll('-', '--')}` : '';

const arrayNameOf = (device: BlockDevice, storage: BlockStorage): string =>
  (storage.arrays.find(({ name }) => name === device.name)?.title ?? device.name).replace(/^rescue:/, '');

function pathNames(device: BlockDevice): string[] {
  if (device.type === 'part') {
    return device.parents.flatMap(pathNames).map((name) => `${name}-part${device.partition?.number}`);
  }
  if (!device.access) return [];
  const number = device.minor / 16;
  return device.access.disk.bus === 'nvme'
    ? [`pci-0000:0${number + 1}:00.0-nvme-1`]
    : [`pci-0000:00:17.0-ata-${number + 1}`];
}

/** udev replaces white space with one underscore, and other characters that are unsafe in a path with `\xNN`. */
const encode = (text: string): string =>
  text
    .replaceAll(/\s+/g, '_')
    .replaceAll(/[^\w#+\-.:=@\x80-\xff]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
