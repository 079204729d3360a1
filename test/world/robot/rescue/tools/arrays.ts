import { readSignatures } from '../../../disk-format/signatures.ts';
import { readRaidMember } from '../../../disk-format/volume-members.ts';
import type { BlockDevice } from '../devices/block-device.ts';
import type { RunningArray } from '../devices/block-storage.ts';
import { formatMdUuid } from '../devices/device-links.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

/** `mdadm`: what runs, what could, and how it is taken apart. */
const mdadm: RescueProgram = async (process) => {
  const { options, operands, unknown } = parseArguments(process.args.slice(1), {
    short: 'ASDEsbvqfQr',
    long: [
      'assemble',
      'stop',
      'detail',
      'examine',
      'scan',
      'brief',
      'zero-superblock',
      'force',
      'verbose',
      'quiet',
      'export',
      'run',
      'readonly',
      'fail=',
      'remove=',
    ],
    same: { assemble: 'A', stop: 'S', detail: 'D', examine: 'E', scan: 's', brief: 'b', quiet: 'q', force: 'f' },
  });
  if (unknown !== undefined)
    return await process.fail(`unrecognized option '${unknown}'\nUsage: mdadm --help\n  for help`, 2);
  if (options.has('zero-superblock')) return await zeroSuperblock(process, operands);
  if (options.has('S')) return await stop(process, operands, options.has('s') && operands.length === 0);
  if (options.has('D')) return await detail(process, operands, options.has('s') || options.has('b'));
  if (options.has('E')) return await examine(process, operands, options.has('s'));
  if (options.has('A')) return await assemble(process);
  return await process.fail('An option must be given to set the mode before a second device\n       (or --help)', 2);
};

function arrayAt(process: RescueProcess, path: string): RunningArray | undefined {
  const device = deviceAt(process, path);
  return process.system.storage.arrays.find(({ name }) => name === device?.name);
}

async function stop(process: RescueProcess, paths: readonly string[], all: boolean): Promise<number> {
  const { storage } = process.system;
  const wanted = all ? storage.arrays.map(({ name }) => `/dev/${name}`) : paths;
  let status = 0;
  for (const path of wanted) {
    try {
      const array = arrayAt(process, path);
      if (!array) {
        status = await process.fail(`${path} does not appear to be an md device`);
        continue;
      }
      storage.stop(array);
      await process.error(`mdadm: stopped ${path}\n`);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status =
        error.code === 'EBUSY'
          ? await process.fail(
              `Cannot get exclusive access to ${path}:Perhaps a running process, mounted filesystem or active volume group?`,
            )
          : await process.fail(`error opening ${path}: ${error.message}`);
    }
  }
  return status;
}

async function zeroSuperblock(process: RescueProcess, paths: readonly string[]): Promise<number> {
  let status = 0;
  for (const path of paths) {
    try {
      const device = deviceAt(process, path);
      if (!device) throw new Errno('ENOTBLK');
      if (process.system.storage.isHeld(device)) {
        status = await process.fail(`Couldn't open ${path} for write - not zeroing`, 2);
      } else if (!readRaidMember(device.read(4096, 512))) {
        status = await process.fail(`Unrecognised md component device - ${path}`, 2);
      } else device.write(4096, Buffer.alloc(512), 'mdadm');
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`Couldn't open ${path} for write - not zeroing`, 2);
    }
  }
  return status;
}

const scanLine = (path: string, { title, uuid }: Pick<RunningArray, 'title' | 'uuid'>): string =>
  `ARRAY ${path} metadata=1.2 name=${title} UUID=${formatMdUuid(uuid)}\n`;

const titlePath = (title: string): string => `/dev/md/${title.replace(/^rescue:/, '')}`;

async function detail(process: RescueProcess, paths: readonly string[], isBrief: boolean): Promise<number> {
  const { storage } = process.system;
  if (paths.length === 0) {
    for (const array of storage.arrays) await process.out(scanLine(titlePath(array.title), array));
    return 0;
  }
  let status = 0;
  for (const path of paths) {
    let array: RunningArray | undefined;
    try {
      array = arrayAt(process, path);
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`cannot open ${path}: ${error.message}`);
      continue;
    }
    if (!array) status = await process.fail(`${path} does not appear to be an md device`);
    else await process.out(isBrief ? scanLine(path, array) : describe(path, array, storage.find(array.name)));
  }
  return status;
}

function describe(path: string, array: RunningArray, device: BlockDevice | undefined): string {
  const line = (name: string, value: string | number): string => `${name.padStart(17)} : ${value}\n`;
  const rows = array.members.map(
    (member, index) =>
      `${String(index).padStart(8)}${'259'.padStart(8)}${String(index).padStart(9)}${String(index).padStart(9)}      active sync   /dev/${member}\n`,
  );
  return `${path}:\n${line('Version', '1.2')}${line('Raid Level', `raid${array.level}`)}${line('Array Size', Math.floor((device?.size ?? 0) / 1024))}${line('Raid Devices', array.wanted)}${line('Total Devices', array.members.length)}${line('State', array.members.length < array.wanted ? 'clean, degraded ' : 'clean ')}${line('Name', array.title)}${line('UUID', formatMdUuid(array.uuid))}\n    Number   Major   Minor   RaidDevice State\n${rows.join('')}`;
}

async function examine(process: RescueProcess, paths: readonly string[], isScan: boolean): Promise<number> {
  if (isScan) {
    const seen = new Set<string>();
    for (const device of process.system.storage.devices()) {
      const member =
        device.type === 'disk' || device.type === 'part' ? readRaidMember(device.read(4096, 512)) : undefined;
      if (!member || seen.has(member.arrayUuid)) continue;
      seen.add(member.arrayUuid);
      await process.out(
        `ARRAY ${titlePath(member.name)}  metadata=1.2 UUID=${formatMdUuid(member.arrayUuid)} name=${member.name}\n`,
      );
    }
    return 0;
  }
  let status = 0;
  for (const path of paths) {
    try {
      const device = deviceAt(process, path);
      const member = device && readRaidMember(device.read(4096, 512));
      if (!member) status = await process.fail(`No md superblock detected on ${path}.`);
      else
        await process.out(
          `${path}:\n          Magic : a92b4efc\n        Version : 1.2\n     Array UUID : ${formatMdUuid(member.arrayUuid)}\n           Name : ${member.name}\n     Raid Level : raid${member.level}\n   Raid Devices : ${member.members}\n    Device UUID : ${formatMdUuid(member.deviceUuid)}\n    Device Role : Active device ${member.position}\n`,
        );
    } catch (error) {
      if (!(error instanceof Errno)) throw error;
      status = await process.fail(`cannot open ${path}: ${error.message}`);
    }
  }
  return status;
}

async function assemble(process: RescueProcess): Promise<number> {
  const started = process.system.storage.assemble();
  if (started.length === 0) return await process.fail('No arrays found in config file or automatically');
  for (const array of started)
    await process.error(
      `mdadm: ${titlePath(array.title)} has been started with ${array.members.length} drive${array.members.length > 1 ? 's' : ''}.\n`,
    );
  return 0;
}

/** Rows of an LVM report, by field. */
type Report = Readonly<Record<string, string>>;

/** `pvs`, `vgs` and `lvs` share how they report. */
const report =
  (title: string, usual: string, rows: (process: RescueProcess) => Report[]): RescueProgram =>
  async (process) => {
    const { options, operands } = parseArguments(process.args.slice(1), {
      short: 'o:avS:',
      long: [
        'noheadings',
        'options=',
        'reportformat=',
        'separator=',
        'units=',
        'nosuffix',
        'all',
        'readonly',
        'unbuffered',
        'nolocking',
      ],
      same: { options: 'o' },
    });
    const fields = (options.get('o') ?? usual).split(',');
    const all = rows(process);
    const unknown = fields.find((field) => all[0] && !(field in all[0]));
    if (unknown !== undefined) {
      await process.error(`  Unrecognised field: ${unknown}\n`);
      return 3;
    }
    const [key = ''] = Object.keys(all[0] ?? {});
    const missing = operands.find((operand) => !all.some((row) => row[key] === operand || row['vg_name'] === operand));
    const chosen =
      operands.length > 0
        ? all.filter((row) => operands.some((operand) => row[key] === operand || row['vg_name'] === operand))
        : all;
    if (missing !== undefined) {
      await process.error(
        title === 'pv'
          ? `  Failed to find physical volume "${missing}".\n`
          : `  Volume group "${missing}" not found\n  Cannot process volume group ${missing}\n`,
      );
      return 5;
    }
    if (options.get('reportformat') === 'json') {
      const list = chosen.map(
        (row) =>
          `              {${fields.map((field) => `${JSON.stringify(field)}:${JSON.stringify(row[field] ?? '')}`).join(', ')}}`,
      );
      await process.out(
        `  {\n      "report": [\n          {\n              "${title}": [\n${list.length > 0 ? `    ${list.join(',\n    ')}\n` : ''}              ]\n          }\n      ]\n  }\n`,
      );
      return 0;
    }
    const separator = options.get('separator') ?? ' ';
    const cells = chosen.map((row) => fields.map((field) => row[field] ?? ''));
    const heads = options.has('noheadings') || chosen.length === 0 ? [] : [fields.map((field) => heading(field))];
    const lines = [...heads, ...cells];
    const widths = fields.map((_, index) =>
      options.has('separator') ? 0 : Math.max(...lines.map((line) => line[index]?.length ?? 0)),
    );
    await process.out(
      lines.map((line) => `  ${line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(separator)}\n`).join(''),
    );
    return 0;
  };

const heading = (field: string): string => {
  const counted: Readonly<Record<string, string>> = { pv_count: '#PV', lv_count: '#LV', snap_count: '#SN' };
  if (field in counted) return counted[field] ?? '';
  const [prefix = '', ...rest] = field.split('_');
  const short: Readonly<Record<string, string>> = {
    name: prefix.toUpperCase(),
    size: `${prefix[0]?.toUpperCase()}Size`,
    free: `${prefix[0]?.toUpperCase()}Free`,
    attr: 'Attr',
    fmt: 'Fmt',
    uuid: `${prefix.toUpperCase()} UUID`,
  };
  return short[rest.join('_')] ?? field;
};

const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)}g`;

function physicalVolumes({ system }: RescueProcess): Report[] {
  const { storage } = system;
  const devices = storage.devices();
  const groups = storage.groups(devices);
  return devices.flatMap((device) => {
    const [signature] = readSignatures(device.read, device.size);
    if (device.type === 'lvm' || signature?.type !== 'LVM2_member') return [];
    const group = groups.find(({ physical }) => physical.includes(device.name));
    return [
      {
        pv_name: `/dev/${device.name}`,
        vg_name: group?.name ?? '',
        pv_fmt: 'lvm2',
        pv_attr: 'a--',
        pv_size: gibibytes(device.size),
        pv_free: '0 ',
        pv_uuid: signature.uuid ?? '',
      },
    ];
  });
}

function volumeGroups({ system }: RescueProcess): Report[] {
  const devices = system.storage.devices();
  return system.storage.groups(devices).map(({ name, physical }) => ({
    vg_name: name,
    pv_count: String(physical.length),
    lv_count: '1',
    snap_count: '0',
    vg_attr: 'wz--n-',
    vg_size: gibibytes(
      devices.filter((device) => physical.includes(device.name)).reduce((sum, { size }) => sum + size, 0),
    ),
    vg_free: '0 ',
    vg_uuid: '',
  }));
}

function logicalVolumes({ system }: RescueProcess): Report[] {
  const devices = system.storage.devices();
  return system.storage.groups(devices).map(({ name, physical, active }) => ({
    lv_name: 'data',
    vg_name: name,
    lv_attr: active ? '-wi-a-----' : '-wi-------',
    lv_size: gibibytes(devices.find((device) => physical.includes(device.name))?.size ?? 0),
    lv_path: `/dev/${name}/data`,
    lv_uuid: '',
  }));
}

const vgchange: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'a:y',
    long: ['activate=', 'yes', 'sysinit'],
    same: { activate: 'a' },
  });
  const { storage } = process.system;
  const desired = options.get('a');
  if (desired === undefined) return await process.fail('No command with matching syntax recognised.', 3);
  const active = !/n$/.test(desired);
  const groups = storage.groups();
  const missing = operands.find((name) => !groups.some((group) => group.name === name));
  if (missing !== undefined) {
    await process.error(`  Volume group "${missing}" not found\n  Cannot process volume group ${missing}\n`);
    return 5;
  }
  let status = 0;
  for (const { name } of groups.filter((group) => operands.length === 0 || operands.includes(group.name))) {
    const volume = storage.devices().find((device) => device.volume?.group === name);
    if (!active && volume && storage.isHeld(volume)) {
      await process.error(
        `  Logical volume ${name}/data in use.\n  Can't deactivate volume group "${name}" with 1 open logical volume(s)\n`,
      );
      status = 5;
      continue;
    }
    storage.setActive(name, active);
    await process.out(`  ${active ? 1 : 0} logical volume(s) in volume group "${name}" now active\n`);
  }
  return status;
};

/** Takes the label away; a group that is in use keeps its volumes. */
const pvremove: RescueProgram = async (process) => {
  let status = 0;
  for (const path of process.args.slice(1).filter((arg) => !arg.startsWith('-'))) {
    const device = deviceAt(process, path);
    const label = device && readSignatures(device.read, device.size).find(({ type }) => type === 'LVM2_member');
    if (!device || !label) {
      await process.error(`  No PV found on device ${path}.\n`);
      status = 5;
    } else if (process.system.storage.isHeld(device)) {
      await process.error(`  Can't open ${path} exclusively.  Mounted filesystem?\n`);
      status = 5;
    } else {
      device.write(512, Buffer.alloc(512), 'pvremove');
      await process.out(`  Labels on physical volume "${path}" successfully wiped.\n`);
    }
  }
  return status;
};

const vgremove: RescueProgram = async (process) => {
  let status = 0;
  for (const name of process.args.slice(1).filter((arg) => !arg.startsWith('-'))) {
    const { storage } = process.system;
    const group = storage.groups().find((one) => one.name === name);
    if (!group) {
      await process.error(`  Volume group "${name}" not found\n  Cannot process volume group ${name}\n`);
      status = 5;
      continue;
    }
    storage.setActive(name, false);
    for (const member of group.physical) storage.find(member)?.write(4096, Buffer.alloc(512), 'vgremove');
    await process.out(`  Volume group "${name}" successfully removed\n`);
  }
  return status;
};

export const arrayTools: Readonly<Record<string, RescueProgram>> = {
  ...{ mdadm, vgchange, pvremove, vgremove },
  pvs: report('pv', 'pv_name,vg_name,pv_fmt,pv_attr,pv_size,pv_free', physicalVolumes),
  vgs: report('vg', 'vg_name,pv_count,lv_count,snap_count,vg_attr,vg_size,vg_free', volumeGroups),
  lvs: report('lv', 'lv_name,vg_name,lv_attr,lv_size', logicalVolumes),
};
