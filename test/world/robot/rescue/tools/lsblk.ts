import { readSignatures } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { dmName } from '../devices/device-links.ts';
import { mountList } from '../files/proc-files.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** `lsblk` with chosen columns, as pairs (`-P`, sizes with `-b`) or as a list without headings (`-nr`). */
export const lsblk: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'bdnprPo:' });
  const columns = options.get('o')?.split(',') ?? [];
  const isList = options.has('n') && options.has('r');
  if (columns.length === 0 || isList === options.has('P') || (columns.includes('SIZE') && !options.has('b')))
    return await process.fail('only -P and -nr with -o are simulated, and sizes with -b');
  let devices: BlockDevice[];
  try {
    devices = pickDevices(process, operands);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`${operands.join(' ')}: not a block device`, 32);
  }
  const { system } = process;
  const all = options.has('d') ? devices : devices.flatMap((device) => withChildren(system, device));
  const seen = new Map(all.map((device) => [device.name, device]));
  for (const device of seen.values()) {
    const values = valuesOf(system, device, options.has('p'));
    const unknown = columns.find((column) => !(column in values));
    if (unknown !== undefined) return await process.fail(`unknown column: ${unknown}`);
    const cells = columns.map((column) => toPlainText(values[column] ?? ''));
    await process.out(
      isList
        ? `${cells.map((cell) => cell.replaceAll(' ', '\\x20')).join(' ')}\n`
        : `${cells.map((cell, index) => `${columns[index]}="${cell}"`).join(' ')}\n`,
    );
  }
  return 0;
};

function pickDevices(process: RescueProcess, paths: readonly string[]): BlockDevice[] {
  if (paths.length === 0) return process.system.storage.devices().filter(({ type }) => type === 'disk');
  return paths.map((path) => {
    const device = deviceAt(process, path);
    if (!device) throw new Errno('ENOTBLK');
    return device;
  });
}

/** An array is below each of its members. */
const withChildren = (system: RescueSystem, device: BlockDevice): BlockDevice[] => [
  device,
  ...system.storage.childrenOf(device).flatMap((child) => withChildren(system, child)),
];

function valuesOf(system: RescueSystem, device: BlockDevice, hasPaths: boolean): Readonly<Record<string, string>> {
  const name = device.volume ? dmName(device) : device.name;
  const path = device.volume ? `/dev/mapper/${name}` : `/dev/${name}`;
  const [signature] = readSignatures(device.read, device.size);
  const mount = mountList(system).find(({ source }) => source === path || source === `/dev/${device.name}`);
  const disk = device.access?.disk ?? (device.type === 'part' ? device.parents[0]?.access?.disk : undefined);
  const isWhole = device.type === 'disk';
  return {
    NAME: hasPaths ? path : name,
    KNAME: `${hasPaths ? '/dev/' : ''}${device.name}`,
    TYPE: device.type,
    SIZE: String(device.size),
    MODEL: isWhole ? (disk?.model ?? '') : '',
    SERIAL: isWhole ? (disk?.serial ?? '') : '',
    // It is unknown until udev has asked the drive.
    WWN: system.isSettled ? (disk?.wwn ?? '') : '',
    ROTA: device.isRotational ? '1' : '0',
    TRAN: disk?.bus ?? '',
    'LOG-SEC': String(device.sectorBytes),
    FSTYPE: signature?.type ?? '',
    LABEL: signature?.label ?? '',
    UUID: signature?.uuid ?? '',
    PARTLABEL: device.partition?.name ?? '',
    PARTUUID: device.partition?.uuid ?? '',
    MOUNTPOINT: mount?.target ?? '',
  };
}

/** Characters that a shell would interpret are written as `\xNN`. */
const toPlainText = (text: string): string =>
  text.replace(/["\\`$\n\t]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
