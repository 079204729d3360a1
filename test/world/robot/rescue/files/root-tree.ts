import { randomBytes, randomUUID } from 'node:crypto';
import { openBlockDevice } from '../devices/block-device.ts';
import { deviceLinks } from '../devices/device-links.ts';
import { Errno } from '../io/errno.ts';
import type { RescueSystem } from '../rescue-system.ts';
import {
  type DeviceNode,
  type DirectoryNode,
  type FileSystemNode,
  newDirectory,
  newFile,
  newVirtualDirectory,
  newVirtualFile,
} from './file-nodes.ts';
import { processFiles } from './proc-files.ts';
import { sysFiles } from './sys-files.ts';

/** The part that is equal on every simulated Linux: programs, devices, and the kernel's files. */
export function commonTree(system: RescueSystem, entries: Readonly<Record<string, FileSystemNode>>): DirectoryNode {
  const programs = newVirtualDirectory(() =>
    Object.fromEntries(system.programNames().map((name) => [name, newFile('', 0o755)])),
  );
  return newDirectory({
    bin: programs,
    sbin: programs,
    boot: newDirectory(),
    dev: devices(system),
    home: newDirectory(),
    mnt: newDirectory(),
    opt: newDirectory(),
    proc: newVirtualDirectory(() => processFiles(system)),
    root: newDirectory({}, 0o700),
    run: newDirectory({ lock: newDirectory() }),
    sys: newVirtualDirectory(() => sysFiles(system)),
    tmp: newDirectory({}, 0o777),
    usr: newDirectory({
      bin: programs,
      sbin: programs,
      lib: newDirectory(),
      local: newDirectory({ bin: newDirectory(), sbin: newDirectory() }),
    }),
    var: newDirectory({ lib: newDirectory(), log: newDirectory(), tmp: newDirectory() }),
    ...entries,
  });
}

function devices(system: RescueSystem): DirectoryNode {
  const strays: UnlinkedFiles = new Map();
  const own = newDirectory({ shm: newDirectory({}, 0o777), pts: newDirectory() });
  return {
    kind: 'directory',
    mode: 0o755,
    names: own.names,
    list: () => new Map([...Object.entries(characters), ...blocks(system, strays), ...own.list()]),
  };
}

function blocks(system: RescueSystem, strays: UnlinkedFiles): [string, FileSystemNode][] {
  const devices_ = system.storage.devices();
  const nodes = devices_.map((device): [string, DeviceNode] => [
    device.name,
    {
      kind: 'block',
      major: device.major,
      minor: device.minor,
      open: (mode) => openBlockDevice(device, mode, mode.write && system.storage.isHeld(device)),
    },
  ]);
  const groups = system.storage.groups().filter(({ active }) => active);
  // Their content is computed on access: every path of a device passes here.
  const folders = ['disk', 'md', 'mapper', ...groups.map(({ name }) => name)].map((name): [string, FileSystemNode] => [
    name,
    linkFolder(system, name, strays),
  ]);
  return [...nodes, ...folders];
}

/** Files that a program created among the links, by folder: a name without a device becomes a file in RAM. */
type UnlinkedFiles = Map<string, Map<string, FileSystemNode>>;

/** A folder of links back to devices. */
function linkFolder(system: RescueSystem, path: string, strays: UnlinkedFiles): DirectoryNode {
  const own = strays.get(path) ?? new Map<string, FileSystemNode>();
  strays.set(path, own);
  return {
    kind: 'directory',
    mode: 0o755,
    names: own,
    list: () => new Map([...linksBelow(system, path, strays), ...own]),
  };
}

function linksBelow(system: RescueSystem, path: string, strays: UnlinkedFiles): Map<string, FileSystemNode> {
  const found = new Map<string, FileSystemNode>();
  const depth = path.split('/').length;
  for (const [link, device] of system.isSettled ? deviceLinks(system.storage) : []) {
    if (!link.startsWith(`${path}/`)) continue;
    const names = link.slice(path.length + 1).split('/');
    const [name = ''] = names;
    if (names.length === 1) found.set(name, { kind: 'link', target: `${'../'.repeat(depth)}${device}` });
    else if (!found.has(name)) found.set(name, linkFolder(system, `${path}/${name}`, strays));
  }
  return found;
}

const character = (major: number, minor: number, read: (max: number) => Buffer, full = false): DeviceNode => ({
  kind: 'character',
  major,
  minor,
  open: () => ({
    read: async (max) => read(max),
    write: async () => {
      if (full) throw new Errno('ENOSPC');
    },
  }),
});

const emptyRead = (): Buffer => Buffer.alloc(0);
const zeros = (max: number): Buffer => Buffer.alloc(Math.min(max, 4 << 20));
const random = (max: number): Buffer => randomBytes(Math.min(max, 1 << 20));

const characters: Readonly<Record<string, FileSystemNode>> = {
  null: character(1, 3, emptyRead),
  zero: character(1, 5, zeros),
  full: character(1, 7, zeros, true),
  random: character(1, 8, random),
  urandom: character(1, 9, random),
  stdin: { kind: 'link', target: '/proc/self/fd/0' },
  stdout: { kind: 'link', target: '/proc/self/fd/1' },
  stderr: { kind: 'link', target: '/proc/self/fd/2' },
  fd: { kind: 'link', target: '/proc/self/fd' },
};

/** The rescue system: everything is in RAM. */
export const rescueTree = (system: RescueSystem): DirectoryNode =>
  commonTree(system, {
    etc: newDirectory({
      hostname: newFile(`${system.hostname}\n`),
      'hetzner-build': newFile('rescue\n'),
      motd: newVirtualFile(() => motd(system)),
      'machine-id': newFile(`${randomUUID().replaceAll('-', '')}\n`),
      'os-release': newFile(osRelease),
      'resolv.conf': newFile('nameserver 185.12.64.1\nnameserver 185.12.64.2\n'),
      hosts: newFile('127.0.0.1 localhost\n'),
      passwd: newFile('root:x:0:0:root:/root:/bin/bash\n'),
    }),
    root: newDirectory(
      {
        '.oldroot': newDirectory({
          nfs: newDirectory({ install: newDirectory({ installimage: newFile('', 0o755) }), images: newDirectory() }),
        }),
      },
      0o700,
    ),
  });

/** An installed Linux: its root is a partition. */
export const installedTree = (system: RescueSystem, hetznerBuild: boolean): DirectoryNode =>
  commonTree(system, {
    etc: newDirectory({
      hostname: newFile(`${system.hostname}\n`),
      motd: newFile('\n'),
      'machine-id': newFile(`${randomUUID().replaceAll('-', '')}\n`),
      'os-release': newFile(osRelease),
      hosts: newFile('127.0.0.1 localhost\n'),
      ...(hetznerBuild ? { 'hetzner-build': newFile('installimage\n') } : {}),
    }),
  });

const osRelease = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n';

function motd({ hardware, network, memoryMiB }: RescueSystem): string {
  const rule = '-'.repeat(90);
  const [nic] = hardware.nics;
  const disks = hardware.disks.map(
    ({ name, sizeBytes, rotational, model }) =>
      `   Disk /dev/${name}: ${Math.round(sizeBytes / 1e9)} GB (${rotational ? 'HDD' : 'SSD'}: ${model})`,
  );
  const total = hardware.disks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return [
    rule,
    '',
    '  Welcome to the Hetzner Rescue System.',
    '',
    '  This Rescue System is based on Debian GNU/Linux 12 (bookworm).',
    '  Everything is kept in RAM and is gone after a reboot.',
    '',
    rule,
    '',
    'Hardware data:',
    '',
    `   CPU1: ${hardware.cpu.model} (Cores ${hardware.cpu.threads})`,
    `   Memory:  ${memoryMiB} MB`,
    ...disks,
    `   Total capacity ${(total / 1024 ** 3).toFixed(0)} GiB with ${hardware.disks.length} Disks`,
    '',
    'Network data:',
    `   ${nic?.name ?? 'eth0'}  LINK: yes`,
    `         MAC:  ${nic?.mac ?? ''}`,
    `         IP:   ${network.address}`,
    '',
  ].join('\n');
}
