import { buildIso } from '../../../../src/lib/iso9660.ts';

const sectorBytes = 512;
const clusterSectors = 1;
const clusterBytes = sectorBytes * clusterSectors;
const rootEntries = 512;
/** Below this many clusters a volume is FAT12. */
const minimumClusters = 4200;
const endOfChain = 0xffff;

/** A FAT16 volume with only `/EFI/BOOT/BOOTX64.EFI`: UEFI firmware starts it from a medium without a boot entry. */
export function buildBootVolume(program: Buffer): Buffer {
  const programClusters = Math.ceil(program.length / clusterBytes);
  const clusters = Math.max(minimumClusters, programClusters + 8);
  const tableSectors = Math.ceil(((clusters + 2) * 2) / sectorBytes);
  const rootSector = 1 + 2 * tableSectors;
  const dataSector = rootSector + (rootEntries * 32) / sectorBytes;
  const total = dataSector + clusters * clusterSectors;
  const image = Buffer.alloc(Math.ceil(total / 4) * 4 * sectorBytes);
  bootSector(total, tableSectors).copy(image);
  // Clusters 2 and 3 are the folders; the program follows contiguously.
  const table = Buffer.alloc(tableSectors * sectorBytes);
  const chain = [0xfff8, endOfChain, endOfChain, endOfChain];
  for (let i = 1; i < programClusters; i += 1) chain.push(4 + i);
  chain.push(endOfChain);
  chain.forEach((next, index) => {
    table.writeUInt16LE(next, index * 2);
  });
  table.copy(image, sectorBytes);
  table.copy(image, sectorBytes * (1 + tableSectors));
  const cluster = (number: number): number => (dataSector + (number - 2) * clusterSectors) * sectorBytes;
  directoryEntry('EFI', 2, undefined).copy(image, rootSector * sectorBytes);
  const inside = (own: number, parent: number, child: Buffer) =>
    Buffer.concat([directoryEntry('.', own, undefined), directoryEntry('..', parent, undefined), child]);
  inside(2, 0, directoryEntry('BOOT', 3, undefined)).copy(image, cluster(2));
  inside(3, 2, directoryEntry('BOOTX64 EFI', 4, program.length)).copy(image, cluster(3));
  program.copy(image, cluster(4));
  return image;
}

function bootSector(total: number, tableSectors: number): Buffer {
  const out = Buffer.alloc(sectorBytes);
  out.write('\xeb\x3c\x90GUESTFAT', 'latin1');
  out.writeUInt16LE(sectorBytes, 11);
  out[13] = clusterSectors;
  out.writeUInt16LE(1, 14);
  out[16] = 2;
  out.writeUInt16LE(rootEntries, 17);
  out.writeUInt16LE(total < 0x10000 ? total : 0, 19);
  out[21] = 0xf8;
  out.writeUInt16LE(tableSectors, 22);
  out.writeUInt16LE(32, 24);
  out.writeUInt16LE(64, 26);
  out.writeUInt32LE(total < 0x10000 ? 0 : total, 32);
  out[36] = 0x80;
  out[38] = 0x29;
  out.write('GUEST      FAT16   ', 43, 'latin1');
  out.writeUInt16LE(0xaa55, 510);
  return out;
}

/** A directory entry; without a size it is a folder. */
function directoryEntry(name: string, cluster: number, bytes: number | undefined): Buffer {
  const out = Buffer.alloc(32);
  out.write(name.padEnd(11), 'latin1');
  out[11] = bytes === undefined ? 0x10 : 0x20;
  out.writeUInt16LE(0x21, 24);
  out.writeUInt16LE(cluster, 26);
  out.writeUInt32LE(bytes ?? 0, 28);
  return out;
}

const discSectorBytes = 2048;

/** A disc that boots a volume, and contains a second one after it. */
export interface BootDisc {
  readonly image: Buffer;
  /** Offset of the second volume, in the disc's sectors of 2048 bytes. */
  readonly payloadSector: number;
}

/** A disc from which UEFI firmware boots (El Torito, no emulation). The boot record replaces that of Joliet. */
export function buildBootDisc(label: string, volume: Buffer, payload: Buffer): BootDisc {
  const disc = buildIso({ label, files: {} });
  const catalogSector = disc.length / discSectorBytes;
  const record = Buffer.alloc(discSectorBytes);
  record.write('\0CD001\x01EL TORITO SPECIFICATION', 'latin1');
  record.writeUInt32LE(catalogSector, 0x47);
  record.copy(disc, 17 * discSectorBytes);
  const whole = (bytes: Buffer) => Buffer.concat([bytes], Math.ceil(bytes.length / discSectorBytes) * discSectorBytes);
  const parts = [disc, bootCatalog(catalogSector + 1, volume.length), whole(volume)];
  const bootable = Buffer.concat(parts);
  return { image: Buffer.concat([bootable, whole(payload)]), payloadSector: bootable.length / discSectorBytes };
}

/** One entry for UEFI; the sum of the first 16 words is 0. */
function bootCatalog(sector: number, bytes: number): Buffer {
  const out = Buffer.alloc(discSectorBytes);
  out[0] = 1;
  out[1] = 0xef;
  out.writeUInt16LE(0xaa55, 30);
  out.writeUInt16LE(0x20000 - 0xaa55 - 0xef01, 28);
  out[32] = 0x88;
  out.writeUInt16LE(Math.ceil(bytes / sectorBytes), 38);
  out.writeUInt32LE(sector, 40);
  return out;
}
