import { randomBytes } from 'node:crypto';
import { openBlockDevice } from '../devices/block-device.ts';
import { deviceLinks } from '../devices/device-links.ts';
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

/** The part that is equal on every simulated Linux: devices, and the kernel's files. */
const commonTree = (system: RescueSystem, entries: Readonly<Record<string, FileSystemNode>>): DirectoryNode =>
  newDirectory({
    dev: devices(system),
    mnt: newDirectory(),
    proc: newVirtualDirectory(() => processFiles(system)),
    root: newDirectory({}, 0o700),
    run: newDirectory(),
    sys: newVirtualDirectory(() => sysFiles(system)),
    tmp: newDirectory({}, 0o777),
    ...entries,
  });

function devices(system: RescueSystem): DirectoryNode {
  const strays: UnlinkedFiles = new Map();
  const own = newDirectory();
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

const character = (major: number, minor: number, read: (max: number) => Buffer): DeviceNode => ({
  kind: 'character',
  major,
  minor,
  open: () => ({ read: async (max) => read(max), write: async () => {} }),
});

const characters: Readonly<Record<string, FileSystemNode>> = {
  null: character(1, 3, () => Buffer.alloc(0)),
  zero: character(1, 5, (max) => Buffer.alloc(Math.min(max, 4 << 20))),
  urandom: character(1, 9, (max) => randomBytes(Math.min(max, 1 << 20))),
};

/** The rescue system: everything is in RAM. */
export const rescueTree = (system: RescueSystem): DirectoryNode =>
  commonTree(system, {
    etc: newDirectory({ 'hetzner-build': newFile('rescue\n'), motd: newVirtualFile(() => motd(system)) }),
  });

/** An installed Linux: its root is a partition. */
export const installedTree = (system: RescueSystem, hetznerBuild: boolean): DirectoryNode =>
  commonTree(system, {
    etc: newDirectory({
      motd: newFile('\n'),
      ...(hetznerBuild ? { 'hetzner-build': newFile('installimage\n') } : {}),
    }),
  });

const motd = ({ hardware, network }: RescueSystem): string =>
  [
    '  Welcome to the Hetzner Rescue System.',
    '',
    `   CPU1: ${hardware.cpu.model} (Cores ${hardware.cpu.threads})`,
    ...hardware.disks.map(({ name, model }) => `   Disk /dev/${name}: ${model}`),
    `   IP:   ${network.address}`,
    '',
  ].join('\n');
