import { encodeGpt, type GptOnDisk, readGpt, tableSectors } from '../../../disk-format/gpt.ts';
import { readPartitionTable } from '../../../disk-format/partition-table.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';
import { human } from './lsblk.ts';
import { toBytes } from './text.ts';

/** The device of an operand, or a status that was told. */
async function deviceOr(
  process: RescueProcess,
  path: string | undefined,
  complaint: (reason: string) => string,
): Promise<BlockDevice | number> {
  try {
    const device = deviceAt(process, path ?? '');
    if (!device) throw new Errno('ENOTTY');
    return device;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(complaint(error.message));
  }
}

const codes: Readonly<Record<string, string>> = {
  'c12a7328-f81f-11d2-ba4b-00a0c93ec93b': 'EF00',
  '21686148-6449-6e6f-744e-656564454649': 'EF02',
  '0fc63daf-8483-4772-8e79-3d69d8477de4': '8300',
  'a19d880f-05fc-4d3b-a006-743f0f84911e': 'FD00',
  '0657fd6d-a4ab-43c4-84e5-0933c84b4f4f': '8200',
  'e6d6d379-f507-44c2-a23c-238f2a3df928': '8E00',
  'ebd0a0a2-b9e5-4433-87c0-68b6b72699c7': '0700',
};

/** `sgdisk`: print, zap, verify, and move the backup table to the end. Partitions are made by nobody here. */
const sgdisk: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'pZozvei:P',
    long: ['print', 'zap-all', 'zap', 'clear', 'verify', 'move-second-header', 'info=', 'pretend'],
    same: {
      print: 'p',
      'zap-all': 'Z',
      zap: 'z',
      clear: 'o',
      verify: 'v',
      'move-second-header': 'e',
      info: 'i',
      pretend: 'P',
    },
  });
  if (unknown !== undefined) return await process.fail(`${unknown}: unknown option`, 1);
  const [path = ''] = operands;
  const device = await openDisk(process, path);
  if (typeof device === 'number') return device;
  if (options.has('Z') || options.has('z')) return await zap(process, device, options.has('Z'));
  const gpt = readGpt(device.read, device.size, device.sectorBytes);
  if (options.has('e') || options.has('o'))
    return await rewrite(
      process,
      device,
      options.has('o') ? { diskGuid: crypto.randomUUID(), partitions: [], from: 'primary' } : gpt,
    );
  if (options.has('i')) return await info(process, gpt, Number(options.get('i')), device);
  if (options.has('v')) return await verify(process, device, gpt);
  if (options.has('p')) await process.out(table(path, device, gpt));
  return 0;
};

async function openDisk(process: RescueProcess, path: string): Promise<BlockDevice | number> {
  try {
    const device = deviceAt(process, path);
    if (device) return device;
    throw new Errno('ENOTBLK');
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    await process.out(`Problem opening ${path} for reading! Error is ${error.code === 'ENOENT' ? 2 : 15}.\n`);
    if (error.code === 'ENOENT') await process.out('The specified file does not exist!\n');
    return 2;
  }
}

async function zap(process: RescueProcess, device: BlockDevice, withMbr: boolean): Promise<number> {
  if (process.system.storage.isHeld(device)) {
    await process.out(
      `Problem opening '/dev/${device.name}' for writing! Error is 16.\nCaution! Unable to open the disk: Device or resource busy\n`,
    );
    return 4;
  }
  const bytes = tableSectors(device.sectorBytes) * device.sectorBytes;
  device.write(device.sectorBytes, Buffer.alloc(bytes), 'sgdisk');
  device.write(
    Math.floor(device.size / device.sectorBytes) * device.sectorBytes - bytes,
    Buffer.alloc(bytes),
    'sgdisk',
  );
  if (withMbr) device.write(0, Buffer.alloc(device.sectorBytes), 'sgdisk');
  reread(process, device);
  await process.out(`GPT data structures destroyed! You may now partition the disk using fdisk or\nother utilities.\n`);
  return 0;
}

async function rewrite(process: RescueProcess, device: BlockDevice, gpt: GptOnDisk | undefined): Promise<number> {
  if (!gpt) return await process.fail('there is no GPT', 3);
  if (process.system.storage.isHeld(device)) {
    await process.out(`Problem opening '/dev/${device.name}' for writing! Error is 16.\n`);
    return 4;
  }
  for (const { offset, bytes } of encodeGpt(gpt, device.size, device.sectorBytes))
    device.write(offset, bytes, 'sgdisk');
  reread(process, device);
  await process.out('The operation has completed successfully.\n');
  return 0;
}

function reread({ system }: RescueProcess, { name, access }: BlockDevice): void {
  if (access) system.storage.readTable(name);
}

async function info(
  process: RescueProcess,
  gpt: GptOnDisk | undefined,
  number: number,
  { sectorBytes }: BlockDevice,
): Promise<number> {
  const found = gpt?.partitions.find((one) => one.number === number);
  if (!found) {
    await process.out(`Partition #${number} does not exist.\n`);
    return 0;
  }
  const sectors = found.last - found.first + 1;
  await process.out(
    [
      `Partition GUID code: ${found.typeGuid.toUpperCase()}`,
      `Partition unique GUID: ${found.guid.toUpperCase()}`,
      `First sector: ${found.first} (at ${human(found.first * sectorBytes)})`,
      `Last sector: ${found.last} (at ${human(found.last * sectorBytes)})`,
      `Partition size: ${sectors} sectors (${human(sectors * sectorBytes)})`,
      'Attribute flags: 0000000000000000',
      `Partition name: '${found.name}'`,
      '',
    ].join('\n'),
  );
  return 0;
}

async function verify(process: RescueProcess, device: BlockDevice, gpt: GptOnDisk | undefined): Promise<number> {
  const last = Math.floor(device.size / device.sectorBytes) - 1;
  const header = device.read(device.sectorBytes, 48);
  const backup = header.length === 48 ? Number(header.readBigUInt64LE(32)) : 0;
  if (gpt && gpt.from === 'primary' && backup === last) {
    await process.out(
      '\nNo problems found. 0 free sectors (0 bytes) available in 0\nsegments, the largest of which is 0 (0 bytes) in size.\n',
    );
    return 0;
  }
  const problem = !gpt
    ? 'Problem: The CRC for the main GPT header is invalid.'
    : gpt.from === 'backup'
      ? 'Problem: The CRC for the main GPT header is invalid. The main GPT header may\nbe corrupt.'
      : "Problem: The secondary header's self-pointer indicates that it doesn't reside\nat the end of the disk. If you've added a disk to a RAID array, use the 'e'\noption on the experts' menu to adjust the secondary header's and partition\ntable's locations.";
  await process.out(`\n${problem}\n\nIdentified 1 problems!\n`);
  return 0;
}

function table(path: string, device: BlockDevice, gpt: GptOnDisk | undefined): string {
  const { size, sectorBytes, access } = device;
  const sectors = Math.floor(size / sectorBytes);
  const own = gpt ?? { diskGuid: crypto.randomUUID(), partitions: [] };
  const note = gpt ? '' : 'Creating new GPT entries in memory.\n';
  const end = gpt ? lastUsable(device) : sectors - 1 - tableSectors(sectorBytes);
  const rows = own.partitions.map(
    ({ number, first, last, typeGuid, name }) =>
      `${String(number).padStart(4)} ${String(first).padStart(15)} ${String(last).padStart(15)}   ${size3((last - first + 1) * sectorBytes).padEnd(11)} ${codes[typeGuid] ?? 'FFFF'}  ${name}\n`,
  );
  return `${note}Disk ${path}: ${sectors} sectors, ${size3(size)}\n${access ? `Model: ${access.disk.model}\n` : ''}Sector size (logical/physical): ${sectorBytes}/${sectorBytes} bytes\nDisk identifier (GUID): ${own.diskGuid.toUpperCase()}\nPartition table holds up to 128 entries\nMain partition table begins at sector 2 and ends at sector ${tableSectors(sectorBytes)}\nFirst usable sector is ${1 + tableSectors(sectorBytes)}, last usable sector is ${end}\nPartitions will be aligned on 2048-sector boundaries\nTotal free space is 0 sectors (0 bytes)\n\nNumber  Start (sector)    End (sector)  Size       Code  Name\n${rows.join('')}`;
}

const lastUsable = (device: BlockDevice): number => Number(device.read(device.sectorBytes, 56).readBigUInt64LE(48));

function size3(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes} bytes` : `${value.toFixed(1)} ${units[unit]}`;
}

/** `blockdev`: sizes, and the kernel's look at a table. */
const blockdev: RescueProgram = async (process) => {
  const commands = process.args.slice(1).filter((arg) => arg.startsWith('--'));
  const paths = process.args.slice(1).filter((arg) => !arg.startsWith('--'));
  if (paths.length === 0 || commands.length === 0) return await process.fail('bad usage');
  for (const path of paths) {
    const device = await deviceOr(process, path, (reason) =>
      reason === new Errno('ENOENT').message
        ? `cannot open ${path}: ${reason}`
        : `ioctl error on ${commands[0]}: ${reason}`,
    );
    if (typeof device === 'number') return device;
    for (const command of commands) {
      const status = await blockdevCommand(process, command, device);
      if (status !== 0) return status;
    }
  }
  return 0;
};

async function blockdevCommand(process: RescueProcess, command: string, device: BlockDevice): Promise<number> {
  const values: Readonly<Record<string, number>> = {
    '--getsize64': device.size,
    '--getsz': Math.floor(device.size / 512),
    '--getss': device.sectorBytes,
    '--getpbsz': device.sectorBytes,
    '--getbsz': 4096,
    '--getro': 0,
    '--getra': 256,
  };
  if (command in values) await process.out(`${values[command]}\n`);
  else if (command === '--rereadpt') {
    try {
      process.system.storage.readTable(device.name);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      return await process.fail(`ioctl error on BLKRRPART: ${error.message}`);
    }
  } else if (command !== '--flushbufs' && command !== '--setrw')
    return await process.fail(`Unknown command: ${command}`);
  return 0;
}

const partprobe: RescueProgram = async (process) => {
  const paths = process.args.slice(1).filter((arg) => !arg.startsWith('-'));
  const { storage } = process.system;
  let status = 0;
  for (const path of paths.length > 0 ? paths : storage.disks.map(({ disk }) => `/dev/${disk.name}`)) {
    const device = await deviceOr(process, path, (reason) => `Could not stat device ${path} - ${reason}.`);
    if (typeof device === 'number') return device;
    try {
      if (device.access) storage.readTable(device.name);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      await process.error(
        `Error: Partition(s) on ${path} have been written, but we have been unable to inform the kernel of the change, probably because it/they are in use.  As a result, the old partition(s) will remain in use.  You should reboot now before making further changes.\n`,
      );
      status = 1;
    }
  }
  return status;
};

/** `blkdiscard`: advice to the drive, or with `-z` zeros. What something else has is busy. */
const blkdiscard: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'fo:l:p:szvq',
    long: ['force', 'offset=', 'length=', 'step=', 'secure', 'zeroout', 'verbose'],
    same: { force: 'f', offset: 'o', length: 'l', secure: 's', zeroout: 'z', verbose: 'v' },
  });
  const [path = ''] = operands;
  const device = await deviceOr(process, path, (reason) => `cannot open ${path}: ${reason}`);
  if (typeof device === 'number') return device;
  if (process.system.storage.isHeld(device)) return await process.fail(`cannot open ${path}: Device or resource busy`);
  const offset = toBytes(options.get('o') ?? '0') ?? 0;
  const length = Math.min(toBytes(options.get('l') ?? '') ?? device.size, device.size - offset);
  if (device.isRotational && !options.has('z'))
    return await process.fail(`${path}: BLKDISCARD ioctl failed: Operation not supported`);
  // Zeros that are written reach every drive, whatever it makes of a TRIM.
  const erase = options.has('z') && device.access ? device.access.discard : device.discard;
  erase(offset, length, 'blkdiscard');
  if (options.has('v')) await process.out(`${path}: Discarded ${length} bytes from the offset ${offset}\n`);
  return 0;
};

const udevadm: RescueProgram = async (process) => {
  const [command] = process.args.slice(1);
  if (command === 'settle') await process.system.awaitSettled();
  else if (command === 'info') return await udevInfo(process);
  return 0;
};

async function udevInfo(process: RescueProcess): Promise<number> {
  const path = process.args.findLast((arg) => arg.startsWith('/dev/')) ?? '';
  const device = await deviceOr(process, path, () => `Unknown device "${path}": No such device`);
  if (typeof device === 'number') return device;
  const disk = device.access?.disk;
  await process.out(
    `DEVNAME=/dev/${device.name}\nDEVTYPE=${device.type === 'part' ? 'partition' : 'disk'}\n${disk ? `ID_SERIAL_SHORT=${disk.serial}\nID_MODEL=${disk.model.replaceAll(' ', '_')}\n${process.system.isSettled && disk.wwn ? `ID_WWN=${disk.wwn}\n` : ''}` : ''}`,
  );
  return 0;
}

const partx: RescueProgram = async (process) => {
  const path = process.args.at(-1) ?? '';
  const device = await deviceOr(process, path, (reason) => `stat of ${path} failed: ${reason}`);
  if (typeof device === 'number') return device;
  if (process.args.some((arg) => /^-[uad]$|^--(?:update|add|delete)$/.test(arg))) {
    if (device.access) process.system.storage.readTable(device.name);
    return 0;
  }
  const found = readPartitionTable(device.read, device.size, device.sectorBytes);
  if (!found) return await process.fail(`${path}: failed to read partition table`);
  await process.out(
    `NR   START      END  SECTORS SIZE NAME UUID\n${found.partitions.map(({ number, offset, bytes, name, uuid }) => `${String(number).padStart(2)} ${offset / 512} ${(offset + bytes) / 512 - 1} ${bytes / 512} ${human(bytes)} ${name} ${uuid}\n`).join('')}`,
  );
  return 0;
};

export const partitionTools: Readonly<Record<string, RescueProgram>> = {
  sgdisk,
  blockdev,
  partprobe,
  partx,
  blkdiscard,
  udevadm,
};
