import { readPartitionTable } from '../../../disk-format/partition-table.ts';
import { readSignatures } from '../../../disk-format/signatures.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import { dmName } from '../devices/device-links.ts';
import { mountList } from '../files/proc-files.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

type Value = string | number | boolean | null | readonly (string | null)[];

/** All columns of lsblk 2.38 in the order of `-O`. */
const columns =
  'alignment disc-aln dax disc-gran disc-max disc-zero fsavail fsroots fssize fstype fsused fsuse% fsver group hctl hotplug kname label log-sec maj:min min-io mode model name opt-io owner partflags partlabel parttype parttypename partuuid path phy-sec pkname pttype ptuuid ra rand rev rm ro rota rq-size sched serial size start state subsystems mountpoint mountpoints tran type uuid vendor wsame wwn zoned zone-sz zone-wgran zone-app zone-nr zone-omax zone-amax'.split(
    ' ',
  );

const usual = ['name', 'maj:min', 'rm', 'size', 'ro', 'type', 'mountpoints'];
const withFileSystems = ['name', 'fstype', 'fsver', 'label', 'uuid', 'fsavail', 'fsuse%', 'mountpoints'];
const rightAligned = new Set(
  'alignment disc-aln disc-gran disc-max disc-zero fsavail fssize fsused fsuse% log-sec maj:min min-io opt-io phy-sec ra rand rm ro rota rq-size size start wsame hotplug dax'.split(
    ' ',
  ),
);

/** `lsblk`: as JSON, as pairs, as a list or as a tree. */
export const lsblk: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'aAbdDfhiJlmMnNo:OpPQrsStTvVxyzE:e:I:w:',
    long: [
      'all',
      'bytes',
      'nodeps',
      'fs',
      'json',
      'list',
      'noheadings',
      'output=',
      'output-all',
      'paths',
      'pairs',
      'raw',
      'scsi',
      'nvme',
      'exclude=',
      'include=',
      'tree?=',
      'sort=',
    ],
    same: {
      all: 'a',
      bytes: 'b',
      nodeps: 'd',
      fs: 'f',
      json: 'J',
      list: 'l',
      noheadings: 'n',
      output: 'o',
      'output-all': 'O',
      paths: 'p',
      pairs: 'P',
      raw: 'r',
      exclude: 'e',
      include: 'I',
    },
  });
  if (unknown !== undefined)
    return await process.fail(
      `invalid option -- '${unknown.replace(/^-+/, '')}'\nTry 'lsblk --help' for more information.`,
    );
  const given = options.get('o')?.replace(/^\+/, '').toLowerCase().split(',');
  const chosen = options.has('O')
    ? columns
    : options.get('o')?.startsWith('+')
      ? [...usual, ...(given ?? [])]
      : (given ?? (options.has('f') ? withFileSystems : usual));
  const bad = chosen.find((column) => !columns.includes(column));
  if (bad !== undefined) return await process.fail(`unknown column: ${bad.toUpperCase()}`);
  const picked = await pick(process, operands);
  const layout: Layout = {
    columns: chosen,
    bytes: options.has('b'),
    paths: options.has('p'),
    headings: !options.has('n'),
  };
  const rows = picked.devices.map((device) => toRow(process.system, device, !options.has('d')));
  const flat = options.has('d') ? rows.map((row) => ({ ...row, children: [] })) : rows;
  if (options.has('J')) await process.out(toJson(flat, layout, options.has('l')));
  else if (options.has('P'))
    await process.out(
      unique(flatten(flat))
        .map((row) => `${toPairs(row, layout)}\n`)
        .join(''),
    );
  else if (options.has('r')) await process.out(toRaw(unique(flatten(flat)), layout));
  else await process.out(toTable(flat, layout, options.has('l')));
  return picked.status;
};

interface Layout {
  readonly columns: readonly string[];
  readonly bytes: boolean;
  readonly paths: boolean;
  readonly headings: boolean;
}

interface Row {
  readonly device: BlockDevice;
  readonly values: Readonly<Record<string, Value>>;
  readonly children: readonly Row[];
}

async function pick(
  process: RescueProcess,
  paths: readonly string[],
): Promise<{ devices: BlockDevice[]; status: number }> {
  const all = process.system.storage.devices();
  if (paths.length === 0) return { devices: all.filter(({ type }) => type === 'disk'), status: 0 };
  const devices: BlockDevice[] = [];
  for (const path of paths) {
    try {
      const device = deviceAt(process, path);
      if (!device) throw new Errno('ENOTBLK');
      devices.push(device);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      await process.fail(`${path}: not a block device`);
    }
  }
  return { devices, status: devices.length === paths.length ? 0 : devices.length > 0 ? 64 : 32 };
}

function toRow(system: RescueSystem, device: BlockDevice, withChildren: boolean): Row {
  const children = withChildren ? system.storage.childrenOf(device).map((child) => toRow(system, child, true)) : [];
  return { device, values: valuesOf(system, device), children };
}

function valuesOf(system: RescueSystem, device: BlockDevice): Record<string, Value> {
  const name = device.volume ? dmName(device) : device.name;
  const path = device.volume ? `/dev/mapper/${name}` : `/dev/${name}`;
  const [signature] = readSignatures(device.read, device.size);
  const table =
    device.type === 'part' ? device.table : readPartitionTable(device.read, device.size, device.sectorBytes);
  const mounted = mountList(system)
    .filter(({ source }) => source === path || source === `/dev/${device.name}`)
    .map(({ target }) => target);
  const disk = device.access?.disk ?? (device.type === 'part' ? device.parents[0]?.access?.disk : undefined);
  const isSata = disk?.bus === 'sata';
  const isWhole = device.type === 'disk';
  const isSettled = system.isSettled;
  const number = device.minor / 16;
  return {
    ...Object.fromEntries(columns.map((column) => [column, null])),
    alignment: 0,
    'disc-aln': 0,
    dax: false,
    'disc-gran': device.isRotational ? 0 : device.sectorBytes,
    'disc-max': device.isRotational ? 0 : 2199023255040,
    'disc-zero': false,
    fsroots: mounted.length > 0 ? mounted.map(() => '/') : [null],
    fstype: signature?.type ?? null,
    fsver: signature?.version ?? null,
    group: 'disk',
    hctl: isSata && isWhole ? `${number}:0:0:0` : null,
    hotplug: false,
    kname: device.name,
    label: signature?.label ?? null,
    'log-sec': device.sectorBytes,
    'maj:min': `${device.major}:${device.minor}`,
    'min-io': device.sectorBytes,
    mode: 'brw-rw----',
    model: isWhole ? (disk?.model ?? null) : null,
    name,
    'opt-io': 0,
    owner: 'root',
    partlabel: device.partition?.name || null,
    parttype: device.partition?.type ?? null,
    partuuid: device.partition?.uuid ?? null,
    path,
    'phy-sec': device.sectorBytes,
    pkname: device.parents[0]?.name ?? null,
    pttype: table?.type ?? null,
    ptuuid: table?.uuid ?? null,
    ra: 128,
    rand: !device.isRotational,
    rev: isSata && isWhole ? '0001' : null,
    rm: false,
    ro: false,
    rota: device.isRotational,
    'rq-size': isSata ? 64 : 1023,
    sched: isSata ? 'mq-deadline' : 'none',
    serial: isWhole ? (disk?.serial ?? null) : null,
    size: device.size,
    start: device.partition ? device.partition.offset / 512 : null,
    state: isWhole ? (isSata ? 'running' : 'live') : device.type === 'lvm' ? 'running' : null,
    subsystems: disk ? (isSata ? 'block:scsi:pci' : 'block:nvme:pci') : 'block',
    mountpoint: mounted[0] ?? null,
    mountpoints: mounted.length > 0 ? mounted : [null],
    tran: disk ? disk.bus : null,
    type: device.type,
    uuid: signature?.uuid ?? null,
    vendor: isSata && isWhole ? 'ATA     ' : null,
    wsame: 0,
    // Until udev has asked the drive, nobody knows.
    wwn: isSettled && disk?.wwn ? disk.wwn : null,
    zoned: 'none',
    'zone-sz': 0,
    'zone-wgran': 0,
    'zone-app': 0,
    'zone-nr': 0,
    'zone-omax': 0,
    'zone-amax': 0,
  };
}

const sized = new Set(['size', 'disc-gran', 'disc-max', 'fsavail', 'fssize', 'fsused']);

function shown({ values, device }: Row, column: string, { bytes, paths }: Layout): Value {
  const value = values[column] ?? null;
  if (paths && (column === 'name' || column === 'kname'))
    return device.volume && column === 'name' ? `/dev/mapper/${value}` : `/dev/${value}`;
  if (!bytes && sized.has(column) && typeof value === 'number') return human(value);
  return value;
}

/** As lsblk shortens: one digit behind the point where that says something. */
export function human(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${bytes}B`;
  const rounded = Math.round(value * 10) / 10;
  return `${Number.isInteger(rounded) || rounded >= 1000 ? Math.round(rounded) : rounded.toFixed(1)}${' KMGTP'[unit]}`;
}

/** util-linux lays JSON out in a way of its own. */
function toJson(rows: readonly Row[], layout: Layout, isList: boolean): string {
  const list = isList ? unique(flatten(rows)).map((row) => ({ ...row, children: [] })) : rows;
  return `{\n   "blockdevices": [\n${objects(list, layout, 6)}\n   ]\n}\n`;
}

function objects(rows: readonly Row[], layout: Layout, indent: number): string {
  if (rows.length === 0) return '';
  const space = ' '.repeat(indent);
  const texts = rows.map((row) => {
    const fields = layout.columns.map(
      (column) => `${space}   "${column}": ${jsonValue(shown(row, column, layout), indent + 3)}`,
    );
    const children =
      row.children.length > 0
        ? [`${space}   "children": [\n${objects(row.children, layout, indent + 6)}\n${space}   ]`]
        : [];
    return `{\n${[...fields, ...children].join(',\n')}\n${space}}`;
  });
  return `${space}${texts.join(',')}`;
}

function jsonValue(value: Value, indent: number): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  const space = ' '.repeat(indent);
  return `[\n${value.map((one) => `${space}    ${JSON.stringify(one)}`).join(',\n')}\n${space}]`;
}

function plain(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (Array.isArray(value)) return value.map((one) => one ?? '').join('\\x0a');
  return String(value);
}

/** What is not plain text is written as `\xNN`. */
const escaped = (text: string): string =>
  text.replace(/["\\`$\n\t]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);

const toPairs = (row: Row, layout: Layout): string =>
  layout.columns.map((column) => `${column.toUpperCase()}="${escaped(plain(shown(row, column, layout)))}"`).join(' ');

function toRaw(rows: readonly Row[], layout: Layout): string {
  const head = layout.headings ? [layout.columns.map((column) => column.toUpperCase()).join(' ')] : [];
  const lines = rows.map((row) =>
    layout.columns.map((column) => escaped(plain(shown(row, column, layout))).replaceAll(' ', '\\x20')).join(' '),
  );
  return [...head, ...lines].map((line) => `${line}\n`).join('');
}

const flatten = (rows: readonly Row[]): Row[] => rows.flatMap((row) => [row, ...flatten(row.children)]);

/** An array shows up below each of its members, and once in a list. */
const unique = (rows: readonly Row[]): Row[] =>
  rows.filter((row, index) => rows.findIndex((one) => one.device.name === row.device.name) === index);

function toTable(rows: readonly Row[], layout: Layout, isList: boolean): string {
  const lines: string[][] = layout.headings ? [layout.columns.map((column) => column.toUpperCase())] : [];
  const add = (row: Row, prefix: string): void => {
    lines.push(
      layout.columns.map(
        (column) => (column === 'name' ? prefix : '') + plain(shown(row, column, layout)).replaceAll('\\x0a', ' '),
      ),
    );
  };
  const walk = (list: readonly Row[], indent: string, depth: number): void => {
    for (const [index, row] of list.entries()) {
      const isLast = index === list.length - 1;
      add(row, isList || depth === 0 ? '' : `${indent}${isLast ? '└─' : '├─'}`);
      walk(row.children, depth === 0 ? '' : `${indent}${isLast ? '  ' : '│ '}`, depth + 1);
    }
  };
  if (isList) for (const row of unique(flatten(rows))) add(row, '');
  else walk(rows, '', 0);
  const widths = layout.columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  const text = lines
    .map((line) =>
      line
        .map((cell, index) =>
          rightAligned.has(layout.columns[index] ?? '')
            ? cell.padStart(widths[index] ?? 0)
            : cell.padEnd(widths[index] ?? 0),
        )
        .join(' ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
  return Buffer.from(text).toString('latin1');
}
