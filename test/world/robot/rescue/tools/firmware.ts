import { uuidFromText } from '../../../disk-format/filesystems.ts';
import { readPartitionTable } from '../../../disk-format/partition-table.ts';
import type { FirmwareBootEntry } from '../../hardware.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/** `efibootmgr` over the board's boot menu. Variables that are mounted for reading only cannot be changed. */
export const efibootmgr: RescueProgram = async (process) => {
  const { system } = process;
  const { firmware } = system.hardware;
  if (firmware.kind !== 'uefi') {
    await process.error('EFI variables are not supported on this system.\n');
    return 2;
  }
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'vqb:BAao:ON:n:cd:l:L:p:t:TDr',
    long: [
      'verbose',
      'quiet',
      'bootnum=',
      'delete-bootnum',
      'active',
      'inactive',
      'bootorder=',
      'delete-bootorder',
      'bootnext=',
      'delete-bootnext',
      'create',
      'disk=',
      'loader=',
      'label=',
      'part=',
      'unicode?=',
    ],
    same: {
      verbose: 'v',
      quiet: 'q',
      bootnum: 'b',
      'delete-bootnum': 'B',
      active: 'a',
      inactive: 'A',
      bootorder: 'o',
      'delete-bootorder': 'O',
      bootnext: 'n',
      create: 'c',
      disk: 'd',
      loader: 'l',
      label: 'L',
      part: 'p',
    },
  });
  if (unknown !== undefined || operands.length > 0)
    return await process.fail(`unrecognized option '${unknown ?? operands[0]}'`);
  const changes = ['B', 'a', 'A', 'o', 'O', 'c', 'n'].filter((one) => options.has(one));
  if (changes.length > 0) {
    const status = await change(process, options);
    if (status !== 0) return status;
  }
  if (!options.has('q')) await process.out(listing(process, options.has('v')));
  return 0;
};

async function change(process: RescueProcess, options: ReadonlyMap<string, string>): Promise<number> {
  const { firmware } = process.system.hardware;
  const id = options.get('b')?.toUpperCase().padStart(4, '0');
  const entry = firmware.entries.find((one) => one.id === id);
  const readOnly = async (what: string): Promise<number | undefined> =>
    process.system.efiVariablesWritable
      ? undefined
      : await complain(process, `Could not ${what}: Read-only file system`, 5);
  if (options.has('B')) {
    if (id === undefined)
      return await complain(process, 'You must specify a boot entry to delete (see the -b option).', 3);
    if (!entry) return await complain(process, `Boot entry ${id} not found`, 15);
    const refused = await readOnly(`delete variable`);
    if (refused !== undefined) return refused;
    firmware.entries = firmware.entries.filter((one) => one !== entry);
    firmware.order = firmware.order.filter((one) => one !== id);
  } else if (options.has('a') || options.has('A')) {
    if (!entry) return await complain(process, `Boot entry ${id ?? ''} not found`, 15);
    const refused = await readOnly('set active state for Boot');
    if (refused !== undefined) return refused;
    entry.active = options.has('a');
  }
  if (options.has('c')) return await create(process, options, readOnly);
  if (options.has('O')) return (await readOnly('remove entry from BootOrder')) ?? setOrder(process, []);
  const order = options.get('o');
  return order === undefined ? 0 : await reorder(process, order, readOnly);
}

async function complain(process: RescueProcess, message: string, status: number): Promise<number> {
  await process.error(`${message}\n`);
  return status;
}

function setOrder(process: RescueProcess, order: string[]): number {
  process.system.hardware.firmware.order = order;
  return 0;
}

async function reorder(
  process: RescueProcess,
  given: string,
  readOnly: (what: string) => Promise<number | undefined>,
): Promise<number> {
  const { firmware } = process.system.hardware;
  const wanted = given.split(',');
  const bad = wanted.find((one) => !/^[0-9a-fA-F]{1,4}$/.test(one));
  if (bad !== undefined)
    return await complain(
      process,
      `Invalid BootOrder order entry value\n\t${given}\n\t${' '.repeat(given.length - bad.length)}^\nefibootmgr: entry \`${bad}' is not a hexadecimal number`,
      8,
    );
  const ids = wanted.map((one) => one.toUpperCase().padStart(4, '0'));
  const missing = ids.find((one) => !firmware.entries.some((entry) => entry.id === one));
  if (missing !== undefined)
    return await complain(
      process,
      `Invalid BootOrder order entry value\n\t${given}\n\t^\nefibootmgr: entry ${missing} does not exist`,
      8,
    );
  return (await readOnly('set BootOrder')) ?? setOrder(process, ids);
}

async function create(
  process: RescueProcess,
  options: ReadonlyMap<string, string>,
  readOnly: (what: string) => Promise<number | undefined>,
): Promise<number> {
  const { system } = process;
  const { firmware } = system.hardware;
  const path = options.get('d') ?? '/dev/sda';
  const name = system.files.exists(path, process.cwd)
    ? (system.files.find(path, process.cwd).path.split('/').pop() ?? '')
    : '';
  const disk = system.hardware.disks.find((one) => one.name === name);
  if (!disk) return await complain(process, `Could not prepare Boot variable: No such file or directory`, 5);
  const refused = await readOnly('prepare Boot variable');
  if (refused !== undefined) return refused;
  let number = 0;
  const toId = (value: number): string => value.toString(16).toUpperCase().padStart(4, '0');
  while (firmware.entries.some((one) => one.id === toId(number))) number += 1;
  const entry: FirmwareBootEntry = {
    id: toId(number),
    label: options.get('L') ?? 'Linux',
    active: true,
    target: {
      kind: 'disk',
      serial: disk.serial,
      ...loaderPartition(process, disk.name, Number(options.get('p') ?? 1)),
    },
  };
  firmware.entries.push(entry);
  firmware.order = [entry.id, ...firmware.order];
  return 0;
}

/** An entry names a partition by its GUID: that of another table, and the entry leads nowhere. */
function loaderPartition({ system }: RescueProcess, name: string, number: number): { partition?: string } {
  const device = system.storage.find(name);
  const table = device && readPartitionTable(device.read, device.size, device.sectorBytes);
  const uuid = table?.partitions.find((one) => one.number === number)?.uuid;
  return uuid === undefined ? {} : { partition: uuid };
}

function listing({ system }: RescueProcess, isVerbose: boolean): string {
  const { entries, order } = system.hardware.firmware;
  const current = entries.find(({ target }) => target.kind === 'network')?.id ?? order[0] ?? '0000';
  const lines = [...entries]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((entry) => {
      const path = isVerbose ? `\t${devicePath(entry)}` : '';
      return `Boot${entry.id}${entry.active ? '*' : ' '} ${entry.label}${path}\n`;
    });
  const orderLine =
    order.length > 0 ? `BootOrder: ${order.join(',')}\n` : 'No BootOrder is set; firmware will attempt recovery\n';
  return `BootCurrent: ${current}\nTimeout: 1 seconds\n${orderLine}${lines.join('')}`;
}

const devicePath = ({ target }: FirmwareBootEntry): string =>
  target.kind === 'network'
    ? 'PciRoot(0x0)/Pci(0x1,0x0)/MAC(000000000000,0)/IPv4(0.0.0.0,0,DHCP,0.0.0.0,0.0.0.0,0.0.0.0)..BO'
    : `HD(1,GPT,${target.partition ?? uuidFromText(`${target.serial} partition 1`)},0x800,0x80000)/File(\\EFI\\BOOT\\BOOTX64.EFI)`;
