import { readSignatures } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { mountList } from '../files/proc-files.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

const efiVariables = '/sys/firmware/efi/efivars';

/** `mount`: firmware variables for writing, or a file system, whose device is busy then. Its files are not shown. */
const mount: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'o:t:' });
  const target = operands.at(-1) ?? '';
  if (target !== efiVariables) return await mountDevice(process, operands[0] ?? '', target);
  if (process.system.hardware.firmware.kind !== 'uefi')
    return await process.fail(`${target}: mount point does not exist.`, 32);
  if (options.get('o') !== 'remount,rw' && options.get('t') !== 'efivarfs')
    return await process.fail('only -o remount,rw and -t efivarfs are simulated', 32);
  process.system.efiVariablesWritable = true;
  return 0;
};

async function mountDevice(process: RescueProcess, source: string, target: string): Promise<number> {
  const { system } = process;
  let device: BlockDevice | undefined;
  try {
    device = deviceAt(process, source);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
  }
  if (!device) return await process.fail(`${target}: ${source} is not a block device.`, 32);
  const [signature] = readSignatures(device.read, device.size);
  if (signature?.usage !== 'filesystem') return await process.fail(`${target}: wrong fs type on ${source}.`, 32);
  if (system.storage.isHeld(device)) return await process.fail(`${target}: ${source} already mounted.`, 32);
  system.storage.mounted.add(device.name);
  system.mounts.set(target, { device: `/dev/${device.name}`, type: signature.type });
  return 0;
}

/** `findmnt -no COLUMN TARGET`. */
const findmnt: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'no:' });
  const [target = ''] = operands;
  const column = options.get('o') ?? '';
  if (!options.has('n') || !/^(?:SOURCE|FSTYPE)$/.test(column))
    return await process.fail('only -no SOURCE and -no FSTYPE are simulated');
  const found = mountList(process.system).find((one) => one.target === target);
  if (!found) return 1;
  await process.out(`${column === 'SOURCE' ? found.source : found.type}\n`);
  return 0;
};

export const mountTools: Readonly<Record<string, RescueProgram>> = { mount, findmnt };
