import type { BlockDevice } from '../devices/block-device.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** `blockdev`: sizes, and the kernel's view of a partition table. */
const blockdev: RescueProgram = async (process) => {
  const [, command = '', path = ''] = process.args;
  try {
    const device = requireDevice(process, path);
    if (command === '--getsize64') await process.out(`${device.size}\n`);
    else if (command === '--getss') await process.out(`${device.sectorBytes}\n`);
    else if (command === '--rereadpt') process.system.storage.readTable(device.name);
    else if (command !== '--flushbufs') return await process.fail(`${command} is not simulated`);
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    const isMissing = error.code === 'ENOENT';
    return await process.fail(`${isMissing ? `cannot open ${path}` : `ioctl error on ${command}`}: ${error.message}`);
  }
};

/** `blkdiscard`: advice to the drive, or with `--zeroout` zeros. A device in use is busy. */
const blkdiscard: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { long: ['zeroout', 'offset=', 'length='] });
  const [path = ''] = operands;
  let device: BlockDevice;
  try {
    device = requireDevice(process, path);
    if (process.system.storage.isHeld(device)) throw new Errno('EBUSY');
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`cannot open ${path}: ${error.message}`);
  }
  const offset = Number(options.get('offset') ?? 0);
  const length = Math.min(Number(options.get('length') ?? device.size), device.size - offset);
  const isZeroing = options.has('zeroout');
  if (device.isRotational && !isZeroing)
    return await process.fail(`${path}: BLKDISCARD ioctl failed: Operation not supported`);
  // Zeros reach every drive, whatever it makes of a TRIM.
  const erase = isZeroing && device.access ? device.access.discard : device.discard;
  erase(offset, length, 'blkdiscard');
  return 0;
};

function requireDevice(process: RescueProcess, path: string): BlockDevice {
  const device = deviceAt(process, path);
  if (!device) throw new Errno('ENOTTY');
  return device;
}

export const blockDeviceTools: Readonly<Record<string, RescueProgram>> = { blockdev, blkdiscard };
