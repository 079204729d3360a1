import { readSignatures } from '../../../disk-format/signatures.ts';
import { readLinuxRoot } from '../../disks/linux-disk.ts';
import { type DirectoryNode, newDirectory, newFile } from '../files/file-nodes.ts';
import { mountList } from '../files/proc-files.ts';
import { Errno } from '../io/errno.ts';
import type { RescueProcess, RescueProgram } from '../process.ts';
import { parseArguments } from './arguments.ts';
import { deviceAt } from './dd.ts';

const fileSystems = new Set(['ext4', 'ext3', 'ext2', 'xfs', 'btrfs', 'vfat', 'ntfs']);

/** `mount`: firmware variables for writing, file systems of disks for looking, and a list. */
const mount: RescueProgram = async (process) => {
  const { system } = process;
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'o:t:rwnv',
    long: ['options=', 'types=', 'bind', 'read-only'],
    same: { options: 'o', types: 't', 'read-only': 'r' },
  });
  if (operands.length === 0) {
    await process.out(
      mountList(system)
        .map(({ source, target, type, options: how }) => `${source} on ${target} type ${type} (${how})\n`)
        .join(''),
    );
    return 0;
  }
  const flags = (options.get('o') ?? '').split(',');
  const target = (operands.at(-1) ?? '').replace(/(.)\/+$/, '$1');
  const isEfi = operands.includes('efivars') || operands.includes('efivarfs') || target === '/sys/firmware/efi/efivars';
  if (isEfi && system.hardware.firmware.kind === 'uefi') {
    system.efiVariablesWritable = !flags.includes('ro') && !options.has('r');
    return 0;
  }
  if (flags.includes('remount')) {
    if (mountList(system).some((one) => one.target === target)) return 0;
    return await process.fail(`${target}: mount point not mounted or bad option.`, 32);
  }
  if (options.get('t') === 'tmpfs' || options.has('bind')) return 0;
  return await mountDevice(process, operands[0] ?? '', target, flags.includes('ro') || options.has('r'));
};

async function mountDevice(
  process: RescueProcess,
  source: string,
  target: string,
  isReadOnly: boolean,
): Promise<number> {
  const { system } = process;
  let device: ReturnType<typeof deviceAt>;
  try {
    device = deviceAt(process, source);
  } catch (error) {
    if (!(error instanceof Errno)) throw error;
    return await process.fail(`${target}: special device ${source} does not exist.`, 32);
  }
  if (!device) return await process.fail(`${target}: ${source} is not a block device.`, 32);
  const [signature] = readSignatures(device.read, device.size);
  if (!signature || !fileSystems.has(signature.type)) {
    const reason = signature
      ? `unknown filesystem type '${signature.type}'.`
      : `wrong fs type, bad option, bad superblock on ${source}, missing codepage or helper program, or other error.`;
    return await process.fail(`${target}: ${reason}`, 32);
  }
  if (system.storage.isHeld(device))
    return await process.fail(`${target}: ${source} already mounted or mount point busy.`, 32);
  const place = system.files.find(target, process.cwd);
  if (place.node?.kind !== 'directory') return await process.fail(`${target}: mount point does not exist.`, 32);
  system.storage.mounted.add(device.name);
  const covered = place.node;
  const linux = readLinuxRoot(device.read, 0);
  place.parent.names?.set(
    place.name,
    linux ? rootOf(linux.hostname, linux.authorizedKeys) : newDirectory({ 'lost+found': newDirectory() }),
  );
  system.mounts.set(place.path, {
    device: `/dev/${device.name}`,
    type: signature.type,
    options: isReadOnly ? 'ro,relatime' : 'rw,relatime',
    covered,
  });
  return 0;
}

const rootOf = (hostname: string, keys: readonly string[]): DirectoryNode =>
  newDirectory({
    bin: newDirectory(),
    boot: newDirectory(),
    etc: newDirectory({ hostname: newFile(`${hostname}\n`), fstab: newFile(''), 'os-release': newFile('ID=debian\n') }),
    home: newDirectory(),
    root: newDirectory({ '.ssh': newDirectory({ authorized_keys: newFile(keys.map((key) => `${key}\n`).join('')) }) }),
    var: newDirectory(),
  });

const umount: RescueProgram = async (process) => {
  const { system } = process;
  let status = 0;
  for (const path of process.args.slice(1).filter((arg) => !arg.startsWith('-'))) {
    const found = [...system.mounts].find(
      ([target, { device }]) => target === path.replace(/(.)\/+$/, '$1') || device === path,
    );
    if (!found) {
      status = await process.fail(`${path}: not mounted.`, 32);
      continue;
    }
    const [target, { device, covered }] = found;
    const place = system.files.find(target, '/');
    place.parent.names?.set(place.name, covered);
    system.mounts.delete(target);
    system.storage.mounted.delete(device.replace('/dev/', ''));
  }
  return status;
};

const findmnt: RescueProgram = async (process) => {
  const { options, operands } = parseArguments(process.args.slice(1), {
    short: 'no:rTt:S:lJ',
    long: ['noheadings', 'output=', 'raw', 'target=', 'source=', 'json', 'list'],
    same: { noheadings: 'n', output: 'o', raw: 'r', target: 'T', source: 'S', json: 'J', list: 'l' },
  });
  const columns = (options.get('o') ?? 'TARGET,SOURCE,FSTYPE,OPTIONS').toUpperCase().split(',');
  const [wanted] = operands;
  const rows = mountList(process.system)
    .filter(
      ({ source, target, type }) =>
        (wanted === undefined || target === wanted || source === wanted) &&
        (!options.has('S') || options.get('S') === source) &&
        (!options.has('t') || options.get('t') === type),
    )
    .map(({ source, target, type, options: how }) =>
      columns.map((column) => ({ TARGET: target, SOURCE: source, FSTYPE: type, OPTIONS: how })[column] ?? ''),
    );
  if (rows.length === 0) return 1;
  if (options.has('J')) {
    const objects = rows.map(
      (row) =>
        `      {\n${row.map((cell, index) => `         "${columns[index]?.toLowerCase()}": ${JSON.stringify(cell)}`).join(',\n')}\n      }`,
    );
    await process.out(`{\n   "filesystems": [\n${objects.join(',')}\n   ]\n}\n`);
    return 0;
  }
  const lines = options.has('n') ? rows : [columns, ...rows];
  const widths = columns.map((_, index) =>
    options.has('r') ? 0 : Math.max(...lines.map((line) => line[index]?.length ?? 0)),
  );
  await process.out(
    lines
      .map(
        (line) =>
          `${line
            .map((cell, index) => cell.padEnd(widths[index] ?? 0))
            .join(' ')
            .trimEnd()}\n`,
      )
      .join(''),
  );
  return 0;
};

const mountpoint: RescueProgram = async (process) => {
  const path = process.args.findLast((arg) => !arg.startsWith('-')) ?? '';
  const isMounted = mountList(process.system).some(({ target }) => target === path);
  if (!process.args.includes('-q')) await process.out(`${path} is ${isMounted ? '' : 'not '}a mountpoint\n`);
  return isMounted ? 0 : 32;
};

export const mountTools: Readonly<Record<string, RescueProgram>> = { mount, umount, findmnt, mountpoint };
