import { partitionTableMagics, readPartitionTable } from '../../../disk-format/partition-table.ts';
import { readSignatures, type Signature } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { dmName } from '../devices/device-links.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** What blkid says of a device: names and values in its order. */
function describe(device: BlockDevice, isProbe: boolean): { values: [string, string][]; isAmbivalent: boolean } {
  const found = readSignatures(device.read, device.size);
  const [signature] = found;
  // A member of an array says nothing of what is inside.
  const isAmbivalent = found.length > 1 && signature?.usage !== 'raid';
  const table = device.type === 'part' ? undefined : readPartitionTable(device.read, device.size, device.sectorBytes);
  const values: [string, string | undefined][] = [
    ...(signature ? names(signature, isProbe) : []),
    ['PTUUID', table?.uuid],
    ['PTTYPE', table?.type],
    ...(device.partition ? entry(device, isProbe) : []),
  ];
  return {
    values: values.filter((one): one is [string, string] => one[1] !== undefined && one[1] !== ''),
    isAmbivalent,
  };
}

const names = (
  { label, uuid, uuidSub, version, blockSize, type, usage }: Signature,
  isProbe: boolean,
): [string, string | undefined][] => [
  ['LABEL', label],
  ['UUID', uuid],
  ['UUID_SUB', uuidSub],
  ['VERSION', isProbe ? version : undefined],
  ['BLOCK_SIZE', blockSize === undefined ? undefined : String(blockSize)],
  ['TYPE', type],
  ['USAGE', isProbe ? usage : undefined],
];

function entry({ partition, table, parents }: BlockDevice, isProbe: boolean): [string, string | undefined][] {
  if (!partition) return [];
  const number = parents[0];
  const details: [string, string | undefined][] = [
    ['PART_ENTRY_SCHEME', table?.type],
    ['PART_ENTRY_NAME', partition.name],
    ['PART_ENTRY_UUID', partition.uuid],
    ['PART_ENTRY_TYPE', partition.type],
    ['PART_ENTRY_NUMBER', String(partition.number)],
    ['PART_ENTRY_OFFSET', String(partition.offset / 512)],
    ['PART_ENTRY_SIZE', String(partition.bytes / 512)],
    ['PART_ENTRY_DISK', number ? `${number.major}:${number.minor}` : undefined],
  ];
  return isProbe
    ? details
    : [
        ['PARTLABEL', partition.name],
        ['PARTUUID', partition.uuid],
      ];
}

const pathOf = (device: BlockDevice): string =>
  device.volume ? `/dev/mapper/${dmName(device)}` : `/dev/${device.name}`;

/** `blkid`, with the low-level probe of `-p`. Nothing found is status 2, too much is 8. */
const blkid: RescueProgram = async (process) => {
  const parsed = parseArguments(process.args.slice(1), {
    short: 'pio:s:t:L:U:c:w:ghlku:n:',
    long: ['output=', 'probe', 'match-tag=', 'cache-file=', 'info'],
    same: { output: 'o', probe: 'p', 'match-tag': 's', 'cache-file': 'c' },
  });
  const { options, operands } = parsed;
  const isProbe = options.has('p');
  if (isProbe && operands.length === 0) return await process.fail('The low-level probing mode requires a device', 4);
  const wanted = parsed.all.filter(([name]) => name === 's').map(([, value]) => value);
  const devices = await devicesOf(process, parsed);
  if (typeof devices === 'number') return devices;
  let found = 0;
  for (const [path, device] of devices) {
    const { values, isAmbivalent } = describe(device, isProbe);
    if (isProbe && isAmbivalent) {
      await process.fail(
        `${path}: ambivalent result (probably more filesystems on the device, use wipefs(8) to see more details)`,
      );
      return 8;
    }
    const shown = values.filter(([name]) => wanted.length === 0 || wanted.includes(name));
    if (!fits(options, values) || shown.length === 0) continue;
    await process.out(write(options.get('o') ?? 'full', path, shown, found > 0));
    found += 1;
  }
  return found > 0 ? 0 : 2;
};

async function devicesOf(process: RescueProcess, { operands }: Arguments): Promise<[string, BlockDevice][] | number> {
  if (operands.length === 0) return process.system.storage.devices().map((device) => [pathOf(device), device]);
  const devices: [string, BlockDevice][] = [];
  for (const path of operands) {
    try {
      const device = deviceAt(process, path);
      if (device) devices.push([path, device]);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      if (process.args.includes('-p')) return await process.fail(`error: ${path}: ${error.message}`, 2);
    }
  }
  return devices;
}

function fits(options: ReadonlyMap<string, string>, values: readonly [string, string][]): boolean {
  const tests = [
    options.get('t')?.split('='),
    options.has('L') ? ['LABEL', options.get('L')] : undefined,
    options.has('U') ? ['UUID', options.get('U')] : undefined,
  ];
  return tests.every((test) => !test || values.some(([name, value]) => name === test[0] && value === test[1]));
}

/** Values are escaped where a shell would trip over them. */
const escaped = (value: string): string => value.replace(/["\\$`\s<>&'()|;#*?]/g, '\\$&');

function write(format: string, path: string, values: readonly [string, string][], isNext: boolean): string {
  if (format === 'value') return values.map(([, value]) => `${value}\n`).join('');
  if (format === 'device') return `${path}\n`;
  if (format === 'export')
    return `${isNext ? '\n' : ''}DEVNAME=${path}\n${values.map(([name, value]) => `${name}=${escaped(value)}\n`).join('')}`;
  if (format === 'udev')
    return values
      .map(
        ([name, value]) =>
          `ID_${name.startsWith('PART') || name.startsWith('PT') ? '' : 'FS_'}${name.replace('PTTYPE', 'PART_TABLE_TYPE').replace('PTUUID', 'PART_TABLE_UUID')}=${value.replaceAll(' ', '_')}\n`,
      )
      .join('');
  return `${path}: ${values.map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`).join(' ')}\n`;
}

interface Found {
  readonly device: string;
  readonly offset: number;
  readonly bytes: Buffer;
  readonly type: string;
  readonly uuid: string | null;
  readonly label: string | null;
}

/** Everything that makes a device recognisable, tables last. */
function signaturesOf(device: BlockDevice): Found[] {
  const systems = readSignatures(device.read, device.size).flatMap((one) =>
    one.magics.map(({ offset, bytes }) => ({
      device: device.name,
      offset,
      bytes,
      type: one.type,
      uuid: one.uuid ?? null,
      label: one.label ?? null,
    })),
  );
  const tables = device.type === 'part' ? [] : partitionTableMagics(device.read, device.size, device.sectorBytes);
  return [
    ...systems,
    ...tables.map(({ type, magic }) => ({
      device: device.name,
      offset: magic.offset,
      bytes: magic.bytes,
      type,
      uuid: null,
      label: null,
    })),
  ];
}

/** `wipefs`: shows what is there, or erases its magic. A disk that something else has is busy. */
const wipefs: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'abfiJno:pqt:hO:V',
    long: [
      'all',
      'backup?=',
      'force',
      'noheadings',
      'json',
      'no-act',
      'offset=',
      'output=',
      'parsable',
      'quiet',
      'types=',
      'lock?=',
    ],
    same: {
      all: 'a',
      backup: 'b',
      force: 'f',
      noheadings: 'i',
      json: 'J',
      'no-act': 'n',
      offset: 'o',
      output: 'O',
      parsable: 'p',
      quiet: 'q',
      types: 't',
    },
  });
  if (unknown !== undefined)
    return await process.fail(
      `invalid option -- '${unknown.replace(/^-+/, '')}'\nTry 'wipefs --help' for more information.`,
    );
  if (operands.length === 0) return await process.fail('bad usage');
  const types = options.get('t')?.split(',');
  const offset = options.has('o') ? Number(options.get('o')) : undefined;
  const isErasing = options.has('a') || offset !== undefined;
  const rows: Found[] = [];
  for (const path of operands) {
    let device: BlockDevice | undefined;
    try {
      device = deviceAt(process, path);
      if (!device) throw new Errno('ENOTBLK');
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      return await process.fail(`error: ${path}: probing initialization failed: ${error.message}`);
    }
    const found = signaturesOf(device).filter(
      (one) => (types === undefined || types.includes(one.type)) && (offset === undefined || one.offset === offset),
    );
    if (!isErasing) {
      rows.push(...found);
      continue;
    }
    const isDry = options.has('n');
    if (!isDry && !options.has('f') && process.system.storage.isHeld(device)) {
      return await process.fail(`error: ${path}: probing initialization failed: Device or resource busy`);
    }
    if (!isDry && process.system.storage.isHeld(device))
      return await process.fail(
        `error: ${path}: failed to erase ${found[0]?.type ?? 'magic string'} at offset 0x${(found[0]?.offset ?? 0).toString(16).padStart(8, '0')}: Device or resource busy`,
      );
    await erase(process, path, device, found, isDry, options.has('q'));
  }
  if (!isErasing)
    await process.out(
      options.has('J') ? toJson(rows) : options.has('p') ? toParsable(rows) : toTable(rows, options.has('i')),
    );
  return 0;
};

async function erase(
  process: RescueProcess,
  path: string,
  device: BlockDevice,
  found: readonly Found[],
  isDry: boolean,
  isQuiet: boolean,
): Promise<void> {
  for (const { offset, bytes, type } of found) {
    if (!isDry) device.write(offset, Buffer.alloc(bytes.length), 'wipefs');
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const what = bytes.length === 1 ? 'byte was' : 'bytes were';
    if (!isQuiet)
      await process.out(
        `${path}: ${bytes.length} ${what} erased at offset 0x${offset.toString(16).padStart(8, '0')} (${type}): ${hex}\n`,
      );
  }
  const hadTable = found.some(({ type }) => ['gpt', 'dos', 'PMBR'].includes(type));
  if (isDry || !hadTable || !device.access) return;
  process.system.storage.readTable(device.name);
  if (!isQuiet) await process.out(`${path}: calling ioctl to re-read partition table: Success\n`);
}

function toJson(rows: readonly Found[]): string {
  const objects = rows.map(({ device, offset, type, uuid, label }) => {
    const fields: [string, string | null][] = [
      ['device', device],
      ['offset', `0x${offset.toString(16)}`],
      ['type', type],
      ['uuid', uuid],
      ['label', label],
    ];
    return `{\n${fields.map(([name, value]) => `         "${name}": ${JSON.stringify(value)}`).join(',\n')}\n      }`;
  });
  return `{\n   "signatures": [\n${rows.length > 0 ? `      ${objects.join(',')}` : ''}\n   ]\n}\n`;
}

const toParsable = (rows: readonly Found[]): string =>
  rows.length === 0
    ? ''
    : `# offset,uuid,label,type\n${rows.map(({ offset, uuid, label, type }) => `0x${offset.toString(16)},${uuid ?? ''},${label ?? ''},${type}\n`).join('')}`;

function toTable(rows: readonly Found[], isBare: boolean): string {
  if (rows.length === 0) return '';
  const cells = rows.map(({ device, offset, type, uuid, label }) => [
    device,
    `0x${offset.toString(16)}`,
    type,
    uuid ?? '',
    label ?? '',
  ]);
  const all = isBare ? cells : [['DEVICE', 'OFFSET', 'TYPE', 'UUID', 'LABEL'], ...cells];
  const widths = [0, 1, 2, 3, 4].map((index) => Math.max(...all.map((row) => row[index]?.length ?? 0)));
  return all
    .map((row) => `${row.map((cell, index) => (index === 4 ? cell : cell.padEnd(widths[index] ?? 0))).join(' ')}\n`)
    .join('');
}

export const signatureTools: Readonly<Record<string, RescueProgram>> = { blkid, wipefs };
