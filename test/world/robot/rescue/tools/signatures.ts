import { partitionTableMagics, readPartitionTable } from '../../../disk-format/partition-table.ts';
import { readSignatures } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** `blkid -p DEVICE`, the low-level probe. Nothing found is status 2, too much is 8. */
const blkid: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'p' });
  const [path = ''] = operands;
  if (!options.has('p')) return await process.fail('only -p is simulated', 4);
  let device: BlockDevice | undefined;
  try {
    device = deviceAt(process, path);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`error: ${path}: ${error.message}`, 2);
  }
  if (!device) return 2;
  const found = readSignatures(device.read, device.size);
  const [signature] = found;
  // What is inside a member of an array is not reported.
  if (found.length > 1 && signature?.usage !== 'raid')
    return await process.fail(`${path}: ambivalent result (probably more filesystems on the device)`, 8);
  const table = device.type === 'part' ? undefined : readPartitionTable(device.read, device.size, device.sectorBytes);
  const values = [
    ...(signature ? [`TYPE="${signature.type}"`] : []),
    ...(table ? [`PTTYPE="${table.type}"`] : []),
    ...(device.partition ? [`PART_ENTRY_NUMBER="${device.partition.number}"`] : []),
  ];
  if (values.length === 0) return 2;
  await process.out(`${path}: ${values.join(' ')}\n`);
  return 0;
};

interface FoundSignature {
  readonly device: string;
  readonly offset: number;
  readonly bytes: Buffer;
  readonly type: string;
  readonly uuid: string;
  readonly label: string;
}

/** Everything that makes a device recognisable, tables last. */
function signaturesOf(device: BlockDevice): FoundSignature[] {
  const systems = readSignatures(device.read, device.size).flatMap(({ magics, type, uuid = '', label = '' }) =>
    magics.map((magic) => ({ device: device.name, ...magic, type, uuid, label })),
  );
  const tables = device.type === 'part' ? [] : partitionTableMagics(device.read, device.size, device.sectorBytes);
  return [
    ...systems,
    ...tables.map(({ type, magic }) => ({ device: device.name, ...magic, type, uuid: '', label: '' })),
  ];
}

/** `wipefs`: lists signatures, or erases them with `-a -q`. A disk in use is busy. */
const wipefs: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process, { short: 'aq', long: ['noheadings', 'parsable'] });
  const [path = ''] = operands;
  try {
    const device = deviceAt(process, path);
    if (!device) throw new Errno('ENOTBLK');
    const found = signaturesOf(device);
    if (options.has('a')) eraseSignatures(process, device, found);
    else await process.out(options.has('parsable') ? toParsable(found) : toTable(found));
    return 0;
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`error: ${path}: probing initialization failed: ${error.message}`);
  }
};

function eraseSignatures({ system }: RescueProcess, device: BlockDevice, found: readonly FoundSignature[]): void {
  if (system.storage.isHeld(device)) throw new Errno('EBUSY');
  for (const { offset, bytes } of found) device.write(offset, Buffer.alloc(bytes.length), 'wipefs');
  const hadTable = found.some(({ type }) => ['gpt', 'PMBR'].includes(type));
  if (hadTable && device.access) system.storage.readTable(device.name);
}

const hex = (offset: number): string => `0x${offset.toString(16)}`;

const toParsable = (rows: readonly FoundSignature[]): string =>
  rows.length === 0
    ? ''
    : `# offset,uuid,label,type\n${rows.map(({ offset, uuid, label, type }) => `${hex(offset)},${uuid},${label},${type}\n`).join('')}`;

const toTable = (rows: readonly FoundSignature[]): string =>
  rows
    .map(({ device, offset, type, uuid, label }) => `${[device, hex(offset), type, uuid, label].join(' ')}\n`)
    .join('');

export const signatureTools: Readonly<Record<string, RescueProgram>> = { blkid, wipefs };
