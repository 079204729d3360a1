import { uuidFromText } from '../../../disk-format/filesystems.ts';
import type { FirmwareBootEntry } from '../../hardware.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';

/**
 * `efibootmgr` over the board's boot menu: lists it, removes an entry (`-b ID -B`), or sets the order (`-o`). Variables
 * that are mounted read-only cannot be changed.
 */
export const efibootmgr: RescueProgram = async (process) => {
  const { system } = process;
  if (system.hardware.firmware.kind !== 'uefi')
    return await complain(process, 'EFI variables are not supported on this system.', 2);
  const { options } = parseArguments(process, { short: 'vqb:Bo:' });
  const order = options.get('o');
  let status = 0;
  if (options.has('B')) status = await removeEntry(process, (options.get('b') ?? '').toUpperCase().padStart(4, '0'));
  else if (order !== undefined) status = await setOrder(process, order);
  if (status === 0 && !options.has('q')) await process.out(listing(process, options.has('v')));
  return status;
};

async function removeEntry(process: RescueProcess, id: string): Promise<number> {
  const { firmware } = process.system.hardware;
  if (!firmware.entries.some((one) => one.id === id)) return await complain(process, `Boot entry ${id} not found`, 15);
  if (!process.system.efiVariablesWritable)
    return await complain(process, 'Could not delete variable: Read-only file system', 5);
  firmware.entries = firmware.entries.filter((one) => one.id !== id);
  firmware.order = firmware.order.filter((one) => one !== id);
  return 0;
}

async function setOrder(process: RescueProcess, given: string): Promise<number> {
  const { firmware } = process.system.hardware;
  const words = given.split(',');
  const ids = words.map((one) => one.toUpperCase().padStart(4, '0'));
  const reason = words.some((one) => !/^[0-9a-fA-F]{1,4}$/.test(one))
    ? 'an entry is not a hexadecimal number'
    : ids.some((id) => !firmware.entries.some((entry) => entry.id === id))
      ? 'an entry does not exist'
      : undefined;
  if (reason !== undefined)
    return await complain(process, `Invalid BootOrder order entry value\n\t${given}\n\t^\nefibootmgr: ${reason}`, 8);
  if (!process.system.efiVariablesWritable)
    return await complain(process, 'Could not set BootOrder: Read-only file system', 5);
  firmware.order = ids;
  return 0;
}

async function complain(process: RescueProcess, message: string, status: number): Promise<number> {
  await process.error(`${message}\n`);
  return status;
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
