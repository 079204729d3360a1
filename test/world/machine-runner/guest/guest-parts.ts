import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheFolder } from '../../../peers/find-peer.ts';

/** The parts of a small Linux. */
export interface GuestParts {
  readonly kernel: Buffer;
  /** Modules by name without `.ko`, each after its dependencies. */
  readonly modules: ReadonlyMap<string, Buffer>;
  /** A static binary. */
  readonly busybox: Buffer;
  /** systemd's stub, which starts the kernel appended to it. */
  readonly stub: Buffer;
}

const variable = 'GUEST_LINUX_FOLDER';
const requiredModules = ['virtio_pci', 'virtio_blk', 'virtio_net', 'ahci', 'sr_mod', 'isofs', 'button', 'evdev'];
const stubPath = 'usr/lib/systemd/boot/efi/linuxx64.efi.stub';

/** Candidates for the root folder of a Linux: the named one, the cache, this machine. */
const roots = (): string[] => {
  const named = process.env[variable];
  return named ? [named] : [join(cacheFolder(), `guest-linux-${process.arch}`), '/'];
};

/** The parts, or one sentence that names the missing ones and their source. */
export function findGuestParts(): GuestParts | string {
  const missing = new Set<string>();
  for (const root of roots()) {
    const version = readVersions(root)[0];
    const busybox = ['bin/busybox', 'usr/bin/busybox'].map((path) => join(root, path)).find(isStatic);
    const stub = join(root, stubPath);
    if (version === undefined) missing.add('a kernel (boot/vmlinuz-* with plain lib/modules)');
    if (!busybox) missing.add('a static busybox');
    if (!existsSync(stub)) missing.add('the stub of systemd-boot-efi');
    if (version === undefined || !busybox || !existsSync(stub)) continue;
    return {
      kernel: readFileSync(join(root, 'boot', `vmlinuz-${version}`)),
      modules: readModules(join(root, 'lib/modules', version)),
      busybox: readFileSync(busybox),
      stub: readFileSync(stub),
    };
  }
  return `A small Linux cannot be made here, ${[...missing].join(', ')} not found: see test/peers/README.md, or set ${variable}.`;
}

/** Kernels of a root with readable modules, the newest first. */
function readVersions(root: string): string[] {
  const names = existsSync(join(root, 'boot')) ? readdirSync(join(root, 'boot')) : [];
  return names
    .filter((name) => name.startsWith('vmlinuz-'))
    .map((name) => name.slice('vmlinuz-'.length))
    .filter((version) => existsSync(join(root, 'lib/modules', version, 'kernel/drivers/ata/ahci.ko')))
    .sort()
    .reverse();
}

const isStatic = (path: string): boolean => existsSync(path) && !readFileSync(path).includes('/ld-linux');

/** The requested modules that are not built in, with all dependencies. */
function readModules(folder: string): ReadonlyMap<string, Buffer> {
  const files = new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ko'))
      .map((path) => [nameOf(path), join(folder, path)]),
  );
  const found = new Map<string, Buffer>();
  const add = (name: string): void => {
    const path = files.get(name);
    if (path === undefined || found.has(name)) return;
    const content = readFileSync(path);
    // Every module lists its dependencies in its `.modinfo`.
    const depends = /\0depends=([^\0]*)\0/.exec(content.toString('latin1'))?.[1] ?? '';
    for (const other of depends.split(',').filter(Boolean)) add(other.replaceAll('-', '_'));
    found.set(name, content);
  };
  for (const name of requiredModules) add(name);
  return found;
}

const nameOf = (path: string): string => basename(path, '.ko').replaceAll('-', '_');
