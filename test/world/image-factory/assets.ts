import { createHash } from 'node:crypto';
import { buildIso } from '../../../src/lib/iso9660.ts';
import { encodeXz } from '../compression/xz/encode.ts';
import { encodeZstd } from '../compression/zstd/encode.ts';
import { encodeRawImage } from '../talos/boot/disk-partitions.ts';
import type { ParsedSchematic } from './schematic.ts';

/** An asset that the simulated factory can build. */
export interface ImageAsset {
  readonly kind: 'iso' | 'raw' | 'installer';
  readonly platform: string;
  readonly arch: string;
  /** Of a raw image; default zstd. */
  readonly compression?: 'zst' | 'xz';
}

const platforms = ['metal', 'nocloud'];
const architectures = ['amd64', 'arm64'];
/** Large enough that an upload takes several packets, small enough for fast tests. */
const paddingBytes = 3 * 1024 * 1024;

/** The content type of an asset, by its name. */
export const contentType = (name: string): string =>
  name.endsWith('.iso')
    ? 'application/x-iso9660-image'
    : name.endsWith('.zst')
      ? 'application/zstd'
      : name.endsWith('.xz')
        ? 'application/x-xz'
        : 'application/octet-stream';

/** Parses an asset's name; undefined for a name that is not an asset, or an asset that is not built here. */
export function findAsset(name: string): ImageAsset | undefined {
  const iso = /^([a-z]+)-([a-z0-9]+)\.iso$/.exec(name);
  const raw = /^([a-z]+)-([a-z0-9]+)\.raw\.(zst|xz)$/.exec(name);
  const [, platform = '', arch = ''] = iso ?? raw ?? [];
  if (!platforms.includes(platform) || !architectures.includes(arch)) return undefined;
  const compression = raw?.[3] === 'xz' ? 'xz' : 'zst';
  return { kind: iso ? 'iso' : 'raw', platform, arch, ...(raw ? { compression } : {}) };
}

/** The kernel command line of an image: Talos's own, then the schematic's; `-name` removes an argument. */
function kernelArguments(asset: Pick<ImageAsset, 'kind' | 'platform'>, schematic: ParsedSchematic): string[] {
  const removed = schematic.kernelArguments.filter((one) => one.startsWith('-')).map((one) => one.slice(1));
  const added = schematic.kernelArguments.filter((one) => !one.startsWith('-'));
  const own = [
    `talos.platform=${asset.platform}`,
    'console=tty1',
    'console=ttyS0',
    ...(asset.platform === 'nocloud' ? ['net.ifnames=0'] : []),
    ...(asset.kind === 'iso' ? ['talos.halt_if_installed=1'] : []),
    'init_on_alloc=1',
    'slab_nomerge=',
    'pti=on',
    'consoleblank=0',
    'nvme_core.io_timeout=4294967295',
    'printk.devkmsg=on',
    'selinux=1',
    'module.sig_enforce=1',
  ];
  return [...own.filter((one) => !removed.some((name) => one === name || one.startsWith(`${name}=`))), ...added];
}

/** What boots from an asset: the simulated firmware and the simulated installer read it. */
export const describeSystem = (
  asset: Omit<ImageAsset, 'compression'>,
  schematic: ParsedSchematic,
  version: string,
) => ({
  platform: asset.platform,
  arch: asset.arch,
  version,
  schematic: schematic.id,
  kernelArguments: kernelArguments(asset, schematic),
  extensions: schematic.extensions,
});

/** The bytes of an asset. The same asset always has the same bytes. */
export function buildAsset(asset: ImageAsset, schematic: ParsedSchematic, version: string): Buffer {
  const world = describeSystem(asset, schematic, version);
  // Written to a disk, it boots: partition table, a loader for either firmware, and META.
  if (asset.kind === 'raw') {
    const pack = asset.compression === 'xz' ? encodeXz : encodeZstd;
    return pack(encodeRawImage({ ...world, version: version.replace(/^v/, '') }, paddingFor(JSON.stringify(world))));
  }
  const label = `TALOS_V${version.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase()}`.slice(0, 16);
  const files = { 'world.json': Buffer.from(JSON.stringify(world)), padding: paddingFor(JSON.stringify(world)) };
  return buildIso({ label, files });
}

/** Bytes that compress and compare like a kernel, derived from a text. */
function paddingFor(text: string): Buffer {
  return createHash('shake256', { outputLength: paddingBytes }).update(text).digest();
}
