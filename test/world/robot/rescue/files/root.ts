import { randomBytes, randomUUID } from 'node:crypto';
import { openBlockDevice } from '../devices/block-device.ts';
import { deviceLinks } from '../devices/links.ts';
import { Errno } from '../io/errno.ts';
import type { System } from '../system.ts';
import { type DeviceNode, type DirectoryNode, directory, file, type Node, view, virtual } from './nodes.ts';
import { processFiles } from './proc.ts';
import { systemFiles } from './sys.ts';

/** What is the same on every Linux of the world: programs, devices, and what the kernel tells of itself. */
export function commonTree(system: System, entries: Readonly<Record<string, Node>>): DirectoryNode {
  const programs = view(() => Object.fromEntries(system.programNames().map((name) => [name, file('', 0o755)])));
  return directory({
    bin: programs,
    sbin: programs,
    boot: directory(),
    dev: devices(system),
    home: directory(),
    mnt: directory(),
    opt: directory(),
    proc: view(() => processFiles(system)),
    root: directory({}, 0o700),
    run: directory({ lock: directory() }),
    sys: view(() => systemFiles(system)),
    tmp: directory({}, 0o777),
    usr: directory({
      bin: programs,
      sbin: programs,
      lib: directory(),
      local: directory({ bin: directory(), sbin: directory() }),
    }),
    var: directory({ lib: directory(), log: directory(), tmp: directory() }),
    ...entries,
  });
}

function devices(system: System): DirectoryNode {
  const strays: Strays = new Map();
  const own = directory({ shm: directory({}, 0o777), pts: directory() });
  return {
    kind: 'directory',
    mode: 0o755,
    names: own.names,
    list: () => new Map([...Object.entries(characters), ...blocks(system, strays), ...own.list()]),
  };
}

function blocks(system: System, strays: Strays): [string, Node][] {
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
  // What is in them is looked up when somebody goes there: every path of a device leads through here.
  const folders = ['disk', 'md', 'mapper', ...groups.map(({ name }) => name)].map((name): [string, Node] => [
    name,
    folder(system, name, strays),
  ]);
  return [...nodes, ...folders];
}

/** What somebody created among the links, by folder: a name that no device has becomes a file in RAM. */
type Strays = Map<string, Map<string, Node>>;

/** A folder of links back to devices. */
function folder(system: System, path: string, strays: Strays): DirectoryNode {
  const own = strays.get(path) ?? new Map<string, Node>();
  strays.set(path, own);
  return { kind: 'directory', mode: 0o755, names: own, list: () => new Map([...below(system, path, strays), ...own]) };
}

function below(system: System, path: string, strays: Strays): Map<string, Node> {
  const found = new Map<string, Node>();
  const depth = path.split('/').length;
  for (const [link, device] of system.isSettled ? deviceLinks(system.storage) : []) {
    if (!link.startsWith(`${path}/`)) continue;
    const names = link.slice(path.length + 1).split('/');
    const [name = ''] = names;
    if (names.length === 1) found.set(name, { kind: 'link', target: `${'../'.repeat(depth)}${device}` });
    else if (!found.has(name)) found.set(name, folder(system, `${path}/${name}`, strays));
  }
  return found;
}

const character = (major: number, minor: number, read: (most: number) => Buffer, full = false): DeviceNode => ({
  kind: 'character',
  major,
  minor,
  open: () => ({
    read: async (most) => read(most),
    write: async () => {
      if (full) throw new Errno('ENOSPC');
    },
  }),
});

const nothing = (): Buffer => Buffer.alloc(0);
const zeros = (most: number): Buffer => Buffer.alloc(Math.min(most, 4 << 20));
const random = (most: number): Buffer => randomBytes(Math.min(most, 1 << 20));

const characters: Readonly<Record<string, Node>> = {
  null: character(1, 3, nothing),
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
export const rescueTree = (system: System): DirectoryNode =>
  commonTree(system, {
    etc: directory({
      hostname: file(`${system.hostname}\n`),
      'hetzner-build': file('rescue\n'),
      motd: virtual(() => motd(system)),
      'machine-id': file(`${randomUUID().replaceAll('-', '')}\n`),
      'os-release': file(osRelease),
      'resolv.conf': file('nameserver 185.12.64.1\nnameserver 185.12.64.2\n'),
      hosts: file('127.0.0.1 localhost\n'),
      passwd: file('root:x:0:0:root:/root:/bin/bash\n'),
    }),
    root: directory(
      {
        '.oldroot': directory({
          nfs: directory({ install: directory({ installimage: file('', 0o755) }), images: directory() }),
        }),
      },
      0o700,
    ),
  });

/** An installed Linux: its root is a partition. */
export const installedTree = (system: System, hetznerBuild: boolean): DirectoryNode =>
  commonTree(system, {
    etc: directory({
      hostname: file(`${system.hostname}\n`),
      motd: file('\n'),
      'machine-id': file(`${randomUUID().replaceAll('-', '')}\n`),
      'os-release': file(osRelease),
      hosts: file('127.0.0.1 localhost\n'),
      ...(hetznerBuild ? { 'hetzner-build': file('installimage\n') } : {}),
    }),
  });

const osRelease = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n';

function motd({ hardware, network, memoryMiB }: System): string {
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
